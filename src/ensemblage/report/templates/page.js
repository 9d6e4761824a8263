"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const store = {
    // a browser may refuse to remember; the button works all the same
    get() { try { return localStorage.getItem("ensemblage-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("ensemblage-theme", value); } catch { /* forgotten */ } },
  };
  const chosen = store.get();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);

  function themeButton(button) {
    const label = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      store.set(root.dataset.theme);
      label();
    });
    dark.addEventListener("change", label);
    label();
    button.hidden = false;
  }

  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function key(row, column, numeric) {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent.trim();
    return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
  }

  function sort(table, column, head, status) {
    const numeric = head.classList.contains("n");
    const up = head.getAttribute("aria-sort") !== "ascending";
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [key(row, column, numeric), row]);
    rows.sort(([a], [b]) => {
      // rows without a value come last in both orders
      if (a === null || b === null) return (a === null) - (b === null);
      const order = numeric ? a - b : collator.compare(a, b);
      return up ? order : -order;
    });
    body.append(...rows.map(([, row]) => row));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    status.textContent = `Sorted by ${head.textContent.trim()}, ${up ? "ascending" : "descending"}.`;
  }

  function sortable(table, status) {
    if (table.tBodies[0].rows.length < 2) return;
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, column, head, status));
    });
  }

  // a table that is too wide is set tighter, then row by row with the heads as labels
  function fitted() {
    for (const box of document.querySelectorAll(".scroll:has(> table)")) {
      box.classList.remove("tight", "stacked");
      for (const way of ["tight", "stacked"]) {
        if (box.scrollWidth > box.clientWidth) box.classList.add(way);
      }
    }
  }

  function labelled(table) {
    const heads = Array.from(table.tHead.rows[0].cells, (head) => head.textContent.trim());
    for (const row of table.tBodies[0].rows) {
      Array.from(row.cells).forEach((cell, column) => { cell.dataset.head = heads[column]; });
    }
  }

  // a box that does not scroll should not stop the tab key
  function stops() {
    fitted();
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    themeButton(document.getElementById("theme"));
    const status = document.getElementById("status");
    for (const table of document.querySelectorAll("table:not(.plain)")) {
      labelled(table);
      sortable(table, status);
    }
    stops();
    addEventListener("resize", stops);
    document.addEventListener("toggle", stops, true);
  });

  const shut = [];
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details:not([open])")) {
      shut.push(fold);
      fold.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const fold of shut.splice(0)) fold.open = false;
  });
})();
