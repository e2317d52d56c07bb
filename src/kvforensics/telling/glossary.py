"""Which words of a report need an explanation?

For readers who answer for an incident and have never run a language model.
"""

from __future__ import annotations

TERMS = (
    ("Affected", "All four parts of the question hold: the affected model answered, inside the window, to a prompt over the "
     "threshold, and it was real traffic."),
    ("Cache (KV cache)", "While a language model reads a prompt, it keeps notes about every token so that it need not read "
     "it again. These notes are the key-value cache. It lives in the memory of the machines that run the model, and "
     "requests of many customers share that memory. If notes are mixed up, one answer can contain traces of a prompt "
     "that somebody else sent."),
    ("Case", "The folder in which kvforensics keeps its findings, the records they rest on, and digests of all that was read."),
    ("Digest (SHA-256)", "A fingerprint of a file or a record. If one character changes, the digest is another one."),
    ("Duplicate", "A second record of a request that is counted already, such as the gateway's and the application's."),
    ("Excluded", "Would be flagged, but is known to be a test, a researcher or monitoring, by a rule with a reason and an "
     "approver. Counts are always shown with and without exclusions."),
    ("Exposure window", "The time in which the fault could show. It contains its start and not its end."),
    ("Framing", "A line that holds no request of its own, such as the header of a table."),
    ("Ledger", "The account of every line that was read: record, rejected, blank or framing. It has to add up."),
    ("Lower and upper", "The smallest and the largest number that the evidence allows. They are bounds, not guesses: lower "
     "counts what is proven, upper adds everything that cannot be ruled out."),
    ("Outside", "At least one part of the question does not hold, so the request is not affected."),
    ("Possibly affected", "No part of the question fails, but the logs do not tell at least one of them."),
    ("Prompt", "The text that is sent to the model: instructions, documents, the conversation so far."),
    ("Record", "One logged request, however the log writes it."),
    ("Replay", "A response cache handed out an earlier answer again, without asking the model. The answer can be one of "
     "the affected ones."),
    ("Tenant", "The customer, team, project or key that a log names as the sender. A tenant is not a person: how many "
     "people stand behind it is not in the logs."),
    ("Threshold", "The prompt length, in tokens, beyond which the fault could show."),
    ("Token", "The unit in which a model reads text: a short word or a piece of one. 700,000 tokens are a few thousand pages."),
)  # fmt: skip
NOTICE_TERMS = tuple(pair for pair in TERMS if pair[0] in {
    "Cache (KV cache)", "Exposure window", "Possibly affected", "Prompt", "Replay", "Threshold", "Token",
})  # fmt: skip
