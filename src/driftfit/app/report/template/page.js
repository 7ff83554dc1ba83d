"use strict";
// Everything on this page can be read without this script. It adds hover words, the step slider and copy buttons.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  all(".needs-script").forEach((element) => { element.hidden = false; });

  // Words on hover: taken from the title elements, which would otherwise show a second time.
  const tip = document.getElementById("tip");
  all("svg title").forEach((title) => {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  });
  const hide = () => tip.classList.remove("shown");
  document.addEventListener("pointermove", (event) => {
    const target = event.target.closest && event.target.closest("[data-tip]");
    if (!target) return hide();
    tip.textContent = target.dataset.tip;
    tip.classList.add("shown");
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(event.clientX + 14, 8), innerWidth - box.width - 8);
    const above = event.clientY - box.height - 14;
    tip.style.left = `${Math.max(left, 8)}px`;
    tip.style.top = `${above > 8 ? above : event.clientY + 20}px`;
  });
  document.addEventListener("pointerleave", hide);
  addEventListener("scroll", hide, { passive: true });

  // Travellers on the lines of the plan stand where the chosen position puts them.
  const travellers = all("svg.plan line.flow").map((line) => {
    const ends = ["x1", "y1", "x2", "y2"].map((name) => Number(line.getAttribute(name)));
    const dot = document.createElementNS(line.namespaceURI, "circle");
    dot.setAttribute("class", "traveller");
    dot.setAttribute("r", "3.2");
    line.ownerSVGElement.append(dot);
    return [dot, ends];
  });
  const travel = (position) => {
    for (const [dot, [x1, y1, x2, y2]] of travellers) {
      dot.setAttribute("cx", x1 + position * (x2 - x1));
      dot.setAttribute("cy", y1 + position * (y2 - y1));
    }
  };

  const slider = document.getElementById("step");
  const rows = all("#steps-table tbody tr");
  if (slider && rows.length) {
    const words = document.getElementById("step-words");
    const counter = document.getElementById("step-count");
    const play = document.getElementById("play");
    let timer = 0;
    const show = () => {
      const row = rows[Number(slider.value)];
      all(".on").forEach((element) => element.classList.remove("on"));
      all(`[data-step="${row.dataset.step}"]`).forEach((element) => element.classList.add("on"));
      words.textContent = row.dataset.words;
      counter.textContent = `${slider.value} of ${rows.length - 1}`;
      slider.setAttribute("aria-valuetext", row.dataset.words);
      travel(Number(row.dataset.position));
    };
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      play.setAttribute("aria-pressed", "false");
      play.querySelector("[aria-hidden]").textContent = "▶";
      play.querySelector(".word").textContent = "Play";
    };
    const start = () => {
      if (slider.value === slider.max) slider.value = slider.min;
      show();
      timer = setInterval(() => {
        slider.value = Number(slider.value) + 1;
        show();
        if (slider.value === slider.max) stop();
      }, 900);
      play.setAttribute("aria-pressed", "true");
      play.querySelector("[aria-hidden]").textContent = "■";
      play.querySelector(".word").textContent = "Stop";
    };
    slider.addEventListener("input", () => { stop(); show(); });
    play.addEventListener("click", () => (timer ? stop() : start()));
    slider.form.addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("click", (event) => {
      const chosen = event.target.closest && event.target.closest("[data-step]");
      const place = chosen ? rows.findIndex((row) => row.dataset.step === chosen.dataset.step) : -1;
      if (place >= 0) { stop(); slider.value = place; show(); }
    });
    show();
  } else {
    travel(0);
  }

  all("[data-copy]").forEach((button) => {
    const source = document.getElementById(button.dataset.copy);
    const say = (word) => {
      button.textContent = word;
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    };
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        say("Copied");
      } catch {
        // Without leave to write, the words are at least selected.
        getSelection().selectAllChildren(source);
        say("Selected");
      }
    });
  });

  // Paper has no buttons: what is folded is printed open.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    folded.forEach((element) => { element.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((element) => { element.open = false; }));
})();
