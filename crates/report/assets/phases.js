// The phases: from each mark to the next.

class Phases {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.panel = element('div', { class: 'phases' });
  }

  show() {
    const { app } = this;
    const all = DATA.spans[0].milliseconds;
    const rows = DATA.spans.map((span, index) => {
      const sum = (column) =>
        span.trees.reduce((sum, tree) => (tree[column] ?? []).reduce((sum, value) => sum + value, sum), 0);
      const cell = (text, column) => element('td', { class: 'number', 'data-column': column }, text);
      const took = cell(time(span.milliseconds), 'milliseconds');
      took.prepend(bar(span.milliseconds / all));
      const button = element(
        'button',
        { 'aria-pressed': String(index === app.state.phase), onclick: () => app.set({ phase: index }, true) },
        span.name || 'the whole',
      );
      const see = element('button', { onclick: () => app.set({ phase: index, view: 'flame' }, true) }, 'Flame graph');
      return element(
        'tr',
        {},
        element('th', { scope: 'row' }, element('bdi', {}, button)),
        took,
        cell(time(sum('self') * MS), 'self'),
        cell(time(sum('waiting') * MS), 'waiting'),
        cell(count(sum('calls')), 'calls'),
        element('td', {}, see),
      );
    });
    const head = ['Phase', 'Took', 'Running', 'Waiting', 'Calls', ''].map((label, place) =>
      element('th', { scope: 'col', class: place && place < 5 ? 'number' : '' }, label),
    );
    this.panel.replaceChildren(
      element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows)),
    );
  }
}
