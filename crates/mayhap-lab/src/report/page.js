"use strict";
// What a point says, for who points at it and for who comes to it by key: Tab to a chart, arrows from point to point.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
const showTip = (point) => {
  tip.textContent = point.getAttribute("aria-label");
  tip.hidden = false;
  const box = point.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 8 ? box.bottom + 8 : above}px`;
};
for (const chart of document.querySelectorAll("svg.chart")) {
  const points = [...chart.querySelectorAll(".point")];
  points.forEach((point, index) => {
    // One says it all: the browser's own tooltip would come on top.
    point.querySelector("title").remove();
    point.setAttribute("tabindex", index === 0 ? "0" : "-1");
    point.addEventListener("pointerenter", () => showTip(point));
    point.addEventListener("pointerleave", () => { tip.hidden = true; });
    point.addEventListener("focus", () => showTip(point));
    point.addEventListener("blur", () => { tip.hidden = true; });
    point.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") tip.hidden = true;
      if (step === undefined) return;
      event.preventDefault();
      const next = points[(index + step + points.length) % points.length];
      points.forEach((other) => other.setAttribute("tabindex", other === next ? "0" : "-1"));
      next.focus();
    });
  });
}
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const compare = (a, b) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-label", `Sort by ${head.textContent}`);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows];
      rows.sort((a, b) => (down ? -1 : 1) * compare(key(a, column), key(b, column)));
      body.append(...rows);
    });
  });
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = "Copy";
  copy.addEventListener("click", () => {
    const range = document.createRange();
    range.selectNode(table);
    const selection = getSelection();
    selection.removeAllRanges();
    copy.hidden = true;
    selection.addRange(range);
    const done = document.execCommand("copy");
    selection.removeAllRanges();
    copy.hidden = false;
    copy.textContent = done ? "Copied" : "Press Ctrl+C";
    if (!done) selection.addRange(range);
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  });
  table.caption.append(copy);
}
