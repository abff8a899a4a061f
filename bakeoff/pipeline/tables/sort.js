// A click on a heading sorts its table. Without scripts the page shows the same content.
for (const heading of document.querySelectorAll("thead th")) {
  heading.dataset.sortable = "";
  heading.tabIndex = 0;
  const sort = () => {
    const body = heading.closest("table").tBodies[0];
    const column = heading.cellIndex;
    const descending = heading.getAttribute("aria-sort") === "ascending";
    const units = { "µs": 1e-6, ms: 1e-3, min: 60, h: 3600 };
    const value = (row) => {
      const text = row.cells[column].textContent.trim().replaceAll("−", "-").replace("< ", "").replaceAll(",", "");
      const number = parseFloat(text);
      const unit = text.match(/^[\d.e+-]+ (µs|ms|min|h)$/);
      return Number.isNaN(number) ? text : number * (unit ? units[unit[1]] : 1);
    };
    const compare = (first, second) => {
      const [a, b] = [value(first), value(second)];
      if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
      return (a < b ? -1 : a > b ? 1 : 0) * (descending ? -1 : 1);
    };
    body.append(...[...body.rows].sort(compare));
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  };
  heading.addEventListener("click", sort);
  heading.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
}
