// The sheet of a student: what is typed stays in this browser until it is saved as a file.
{
  const form = document.getElementById("answers");
  const inputs = [form.elements.name, ...document.querySelectorAll("main input")];
  const saved = document.getElementById("saved");
  const key = `bakeoff ${form.dataset.code}`;
  const quote = (text) => `"${text.replaceAll('"', '""')}"`;
  const count = () => inputs.slice(1).filter((input) => input.value.trim()).length;
  const store = () => {
    saved.textContent = `${count()} of ${inputs.length - 1} boxes filled in`;
    // A browser may forbid pages on the disk to store anything.
    try { localStorage.setItem(key, JSON.stringify(inputs.map((input) => input.value))); } catch { /* the file remains */ }
  };
  try {
    const values = JSON.parse(localStorage.getItem(key)) || [];
    inputs.forEach((input, position) => { input.value = values[position] || ""; });
  } catch { /* nothing is stored */ }
  inputs.forEach((input, position) => {
    input.addEventListener("input", store);
    input.addEventListener("keydown", (event) => {
      const next = inputs[position + (event.shiftKey ? -1 : 1)];
      if (event.key !== "Enter" || !next) return;
      event.preventDefault();
      next.focus();
    });
  });
  document.getElementById("save").addEventListener("click", () => {
    const filled = inputs.filter((input) => input.value.trim());
    const rows = [["box", "answer"], ["sheet", form.dataset.code], ...filled.map((input) => [input.name, input.value.trim()])];
    const text = rows.map((row) => row.map(quote).join(",")).join("\n") + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `answers-${form.dataset.code}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    saved.textContent = `${count()} of ${inputs.length - 1} boxes saved in ${link.download}`;
  });
  store();
}
