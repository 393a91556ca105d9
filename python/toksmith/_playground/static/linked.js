// Links tokens and ids: the pointer at one highlights the other.

export function link(at, which) {
  for (const element of document.querySelectorAll('.linked')) element.classList.remove('linked');
  if (!at) return;
  const same = [`.rows .t[data-w="${at.which}"][data-i="${at.place}"]`];
  if (at.which === which) same.push(`.ids .id[data-i="${at.place}"]`);
  for (const element of document.querySelectorAll(same.join())) element.classList.add('linked');
}
