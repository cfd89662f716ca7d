// What the server's pages do beyond links and forms. They work without.
"use strict";
(() => {
  // A choice takes effect at once.
  for (const select of document.querySelectorAll("form.choose select")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }

  // A run in progress: the server sends the same parts whenever something has changed.
  const live = document.getElementById("live-parts");
  if (live) {
    const state = document.getElementById("live-state");
    const source = new EventSource(live.dataset.events);
    source.addEventListener("parts", (event) => {
      live.innerHTML = event.data;
      live.dataset.updates = Number(live.dataset.updates || 0) + 1;
      state.textContent = "Connected: this page follows the run.";
    });
    source.addEventListener("end", () => {
      source.close();
      state.textContent = "The run has ended.";
      document.getElementById("live-report").hidden = false;
    });
    source.addEventListener("error", () => {
      state.textContent = "Not connected: the server has ended or is busy. Trying again.";
    });
  }
})();
