-- title: Client addresses
-- question: Which client addresses occur in the evidence?
-- parameters: none
-- limits: Texts as logged; one that is no address is listed too.
SELECT DISTINCT client_ip
FROM records
WHERE client_ip IS NOT NULL
ORDER BY client_ip
