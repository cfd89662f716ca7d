// Sorting, filtering, unfolding and tooltips. The page reads well without.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const rows = (table) => Array.from(table.tBodies);

  // A click on a header sorts by it: numbers largest first, words from A; again turns it round.
  const key = (body, index) => {
    const cell = body.rows[0].cells[index];
    if (!cell) return "";
    if (cell.dataset.v === undefined) return cell.textContent.trim().toLowerCase();
    return cell.dataset.v === "" ? NaN : Number(cell.dataset.v);
  };
  const compare = (a, b) => {
    if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b));
    // What was not measured comes last, either way round.
    return a - b;
  };
  const sort = (table, header) => {
    const down = header.classList.contains("n")
      ? header.getAttribute("aria-sort") !== "descending"
      : header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const missing = (value) => typeof value === "number" && Number.isNaN(value);
    rows(table)
      .map((body) => [key(body, header.cellIndex), body])
      .sort(([a], [b]) => {
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        return down ? compare(b, a) : compare(a, b);
      })
      .forEach(([, body]) => table.append(body));
  };
  for (const table of document.querySelectorAll("table.data")) {
    for (const header of table.tHead.rows[0].cells) {
      header.tabIndex = 0;
      header.addEventListener("click", () => sort(table, header));
      header.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        sort(table, header);
      });
    }
  }

  // Long tables: a box to filter by, and a button to see all.
  for (const tools of document.querySelectorAll(".tools")) {
    const table = tools.nextElementSibling.querySelector("table");
    const all = rows(table);
    const texts = new Map(all.map((body) => [body, body.textContent.toLowerCase()]));
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Filter";
    input.setAttribute("aria-label", "Filter the rows");
    const button = document.createElement("button");
    const count = document.createElement("span");
    let folded = true;
    const update = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const body of all) {
        const hit = words.every((word) => texts.get(body).includes(word));
        body.hidden = !hit;
        found += hit;
      }
      table.classList.toggle("short", folded && words.length === 0);
      button.hidden = words.length > 0;
      button.textContent = folded ? `Show all ${all.length}` : "Show fewer";
      count.textContent = words.length ? `${found} of ${all.length}` : "";
    };
    button.addEventListener("click", () => { folded = !folded; update(); });
    input.addEventListener("input", update);
    tools.append(input, button, count);
    update();
  }

  // A row opens to its full name and its parts; text in it can still be selected.
  document.addEventListener("click", (event) => {
    const cell = event.target.closest(".opens");
    if (!cell || String(getSelection())) return;
    const open = cell.closest("tbody").classList.toggle("open");
    cell.querySelector("button").setAttribute("aria-expanded", open);
  });

  // Charts: the nearest point's words beside the pointer.
  for (const chart of document.querySelectorAll("svg.chart")) {
    const xs = chart.dataset.x.split(" ").map(Number);
    const tips = chart.dataset.tips.split("|");
    const cursor = chart.querySelector(".cursor");
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      let low = 0;
      let high = xs.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (xs[middle] < x) low = middle + 1;
        else high = middle;
      }
      if (low > 0 && x - xs[low - 1] < xs[low] - x) low -= 1;
      cursor.setAttribute("x1", xs[low]);
      cursor.setAttribute("x2", xs[low]);
      cursor.setAttribute("visibility", "visible");
      tip.textContent = tips[low];
      tip.hidden = false;
      const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
      tip.style.left = `${left}px`;
      tip.style.top = `${event.clientY + 16}px`;
    });
    chart.addEventListener("pointerleave", () => {
      tip.hidden = true;
      cursor.setAttribute("visibility", "hidden");
    });
  }

  // What scrolls sideways can be reached by keyboard.
  for (const box of document.querySelectorAll(".scroll, figure")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
  }

  // The list of sections shows where one is.
  const links = new Map(Array.from(document.querySelectorAll("nav a[href^='#']"), (link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.classList.remove("here");
      links.get(entry.target.id)?.classList.add("here"); // some sections are not in the list
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of document.querySelectorAll("section")) seen.observe(section);
})();
