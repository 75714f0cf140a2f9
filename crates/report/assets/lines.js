// The source files, with how many of their lines ran; one of them with the count of each line.

class Lines {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.files = element('div', { class: 'files' });
    this.head = element('div', { class: 'row head', role: 'row', 'aria-rowindex': '1' });
    this.body = element('div', { role: 'rowgroup' });
    this.source = element(
      'div',
      { class: 'source', role: 'grid', 'aria-label': 'Source', tabindex: 0 },
      this.head,
      this.body,
    );
    this.list = new VirtualList(this.source, this.body, (index) => this.row(index));
    this.panel = element('div', { class: 'lines' }, this.files, this.source);
  }

  show() {
    const { app } = this;
    const ran = (file) => file.count.filter((count) => count > 0).length;
    const sum = (of) => DATA.lines.reduce((sum, file) => sum + of(file), 0);
    const cells = (lines, covered) => [
      element('td', { class: 'number', 'data-column': 'lines' }, count(lines)),
      element('td', { class: 'number', 'data-column': 'ran' }, bar(covered / lines), count(covered)),
      element('td', { class: 'number', 'data-column': 'percent' }, shareOf(covered, lines)),
    ];
    const rows = DATA.lines.map((file, index) => {
      const isShown = index === app.state.file;
      const choose = element(
        'button',
        { 'aria-pressed': String(isShown), onclick: () => app.set({ file: index }, true) },
        file.path,
      );
      const name = element('th', { scope: 'row' }, element('bdi', {}, choose));
      return element('tr', {}, name, ...cells(file.number.length, ran(file)));
    });
    const all = cells(
      sum((file) => file.number.length),
      sum(ran),
    );
    rows.push(
      element('tr', { class: 'all' }, element('th', { scope: 'row' }, counted(DATA.lines.length, 'file')), ...all),
    );
    const head = ['Source file', 'Lines', 'Ran', '%'].map((label, place) =>
      element('th', { scope: 'col', class: place ? 'number' : '' }, label),
    );
    this.files.replaceChildren(
      element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows)),
    );
    this.showSource(DATA.lines[app.state.file]);
  }

  /** @param {any} file */
  showSource(file) {
    const countOf = new Map(file.number.map((number, index) => [number, file.count[index]]));
    const partial = new Set(file.partial);
    const line = (number, text) => ({ number, text, count: countOf.get(number), isPartial: partial.has(number) });
    this.lines = file.text
      ? file.text.map((text, index) => line(index + 1, text))
      : file.number.map((number) => line(number, ''));
    // Of a few lines, not each is as hot as can be.
    this.most = Math.max(10, ...file.count.slice(0, 1e5));
    const longest = this.lines.reduce((longest, line) => Math.max(longest, line.text.length), 0);
    this.source.style.setProperty('--width', `calc(11rem + ${longest + 2}ch)`);
    const name = file.link ? element('a', { href: file.link, rel: 'noreferrer' }, file.path) : file.path;
    const missing = file.text ? '' : ' was not found as it was compiled, so its text is not here';
    this.head.replaceChildren(
      ...[['Count'], ['Line'], [name, missing]].map((label) => element('div', { role: 'columnheader' }, ...label)),
    );
    if (this.shown !== file) this.source.scrollTop = 0;
    this.shown = file;
    this.list.show(this.lines.length);
  }

  /** @param {number} index */
  row(index) {
    const { number, text, count: times, isPartial } = this.lines[index];
    const kind = times === undefined ? '' : times === 0 ? ' never' : isPartial ? ' partly' : ' ran';
    const cells = [
      element(
        'div',
        { role: 'gridcell', class: 'number' },
        times === undefined ? '' : count(times) + (isPartial ? ' ~' : ''),
      ),
      element('div', { role: 'gridcell', class: 'number dim' }, String(number)),
      element('div', { role: 'gridcell', class: 'text' }, text),
    ];
    const row = element('div', { role: 'row', class: `row${kind}`, 'data-line': String(number) }, ...cells);
    if (isPartial) row.title = 'A part of this line never ran';
    if (times > 0)
      row.style.setProperty('--heat', `${Math.round(8 + (30 * Math.log(1 + times)) / Math.log(1 + this.most))}%`);
    return row;
  }
}

/** A part of all lines in percent, rounded down: 100 means all. @param {number} part @param {number} whole */
function shareOf(part, whole) {
  return whole ? (Math.floor((part / whole) * 1000) / 10).toFixed(1) : '100.0';
}
