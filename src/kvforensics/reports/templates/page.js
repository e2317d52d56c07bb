"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.tHead.rows[0].cells;
  const body = table.tBodies[0];
  const original = Array.from(body.rows);
  const order = new Intl.Collator("en", { numeric: true });
  for (let column = 0; column < heads.length; column += 1) {
    const head = heads[column];
    // Not a button element: browsers leave those out of the heads that they repeat on paper.
    const button = document.createElement("span");
    button.setAttribute("role", "button");
    button.tabIndex = 0;
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      button.click();
    });
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const next = now === "ascending" ? "descending" : now === "descending" ? null : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      let rows = original;
      if (next) {
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
        rows = original.slice().sort((a, b) => sign * order.compare(key(a), key(b)));
      }
      body.replaceChildren(...rows);
    });
  }
}
// Browsers that cannot be told by the style sheet alone to show on paper what is folded.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
