// Filters the rows of the coverage matrix by name, and to those with a gap.
for (const form of document.querySelectorAll(".coverage-filter")) {
  const [name, gaps] = form.querySelectorAll("input");
  const shown = form.querySelector("output");
  const update = () => {
    const wanted = name.value.trim().toLowerCase();
    let count = 0;
    for (const matrix of document.querySelectorAll(".matrix")) {
      let any = false;
      for (const row of matrix.querySelectorAll("tbody tr")) {
        const fits = row.cells[0].textContent.toLowerCase().includes(wanted) &&
          (!gaps.checked || "gap" in row.dataset);
        row.hidden = !fits;
        any ||= fits;
        count += fits;
      }
      matrix.hidden = !any;
    }
    shown.value = `${count} operators`;
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
}
