// Without scripts, and in print, the page shows all steps one below the other.
{
  const steps = [...document.querySelectorAll(".step")];
  const [back, forward, play, slider, position] = ["back", "forward", "play", "slider", "position"].map((id) => document.getElementById(id));
  const rows = [...document.querySelectorAll("#training tbody tr")];
  const PLAY_MILLISECONDS = 2000;
  let current = 1;
  let timer = 0;
  const readHash = () => Number((location.hash.match(/^#step-(\d+)$/) || [])[1] || 1);
  const show = (number) => {
    current = Math.min(Math.max(number, 1), steps.length);
    const step = steps[current - 1];
    const pictured = steps.slice(0, current).reverse().find((each) => each.querySelector("figure"));
    for (const each of steps) {
      each.classList.toggle("current", each === step);
      each.classList.toggle("pictured", each === pictured);
    }
    const inPlay = step.dataset.rows.split(" ");
    for (const row of rows) {
      const isInPlay = inPlay.includes(row.cells[0].textContent.trim());
      row.classList.toggle("in-play", isInPlay);
      if (isInPlay) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    const first = rows.find((row) => row.classList.contains("in-play"));
    const frame = first && first.closest(".scroll");
    if (frame && (first.offsetTop < frame.scrollTop || first.offsetTop + first.offsetHeight > frame.scrollTop + frame.clientHeight)) {
      frame.scrollTop = first.offsetTop - frame.clientHeight / 2;
    }
    // The current node of a wide tree is in the middle.
    const figure = pictured && pictured.querySelector("figure");
    const node = figure && figure.querySelector("text[style*='font-weight: 700']");
    if (node) {
      const [inner, outer] = [node.getBoundingClientRect(), figure.getBoundingClientRect()];
      figure.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
    }
    back.disabled = current === 1;
    forward.disabled = current === steps.length;
    slider.value = current;
    position.textContent = `Step ${current} of ${steps.length}`;
    if (current === steps.length) pause();
    // The page may be part of another one, such as a notebook, whose address is not ours.
    if (location.protocol !== "about:") history.replaceState(null, "", `#step-${current}`);
  };
  const pause = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  const toggle = () => {
    if (timer) return pause();
    if (current === steps.length) show(1);
    timer = setInterval(() => show(current + 1), PLAY_MILLISECONDS);
    play.textContent = "Pause";
  };
  const move = (number) => {
    pause();
    show(number);
  };
  const keys = { ArrowLeft: () => move(current - 1), ArrowRight: () => move(current + 1), Home: () => move(1), End: () => move(steps.length), " ": toggle };
  document.addEventListener("keydown", (event) => {
    const own = event.target.closest("button, summary, a");
    const frame = event.target.closest(".scroll, figure");
    const scrolls = frame && frame.scrollWidth > frame.clientWidth && event.key !== " ";
    if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key] || scrolls || (own && event.key === " ")) return;
    event.preventDefault();
    keys[event.key]();
  });
  // The row under the pointer lights its leaf.
  const light = (number) => {
    for (const leaf of document.querySelectorAll("[data-row]")) leaf.classList.toggle("lit", leaf.dataset.row.split(" ").includes(number));
  };
  for (const row of rows) {
    row.addEventListener("pointerenter", () => light(row.cells[0].textContent.trim()));
    row.addEventListener("pointerleave", () => light(""));
  }
  back.addEventListener("click", () => move(current - 1));
  forward.addEventListener("click", () => move(current + 1));
  play.addEventListener("click", toggle);
  slider.addEventListener("input", () => move(Number(slider.value)));
  addEventListener("hashchange", () => show(readHash()));
  document.documentElement.classList.add("stepping");
  document.getElementById("controls").hidden = false;
  show(readHash());
}
