// Filters the rows of the coverage matrix by name, and to those with a gap.
for (const form of document.querySelectorAll(".coverage-filter")) {
  const [name, gaps] = form.querySelectorAll("input");
  const shown = form.querySelector("output");
  const update = () => {
    const wanted = name.value.trim().toLowerCase();
    let count = 0;
    for (const subject of document.querySelectorAll(".matrix tbody")) {
      let any = false;
      for (const row of subject.querySelectorAll("tr:not(.subject)")) {
        const fits = row.cells[0].textContent.toLowerCase().includes(wanted) &&
          (!gaps.checked || "gap" in row.dataset);
        row.hidden = !fits;
        any ||= fits;
        count += fits;
      }
      subject.hidden = !any;
    }
    shown.value = `${count} operators`;
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
}
