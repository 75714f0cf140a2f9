// Two sides: what is beside the new side's numbers, and the colours of what changed.

const COMPARED = DATA.compared ?? null;

/** What frames are as wide as. */
const WIDTHS = { new: 'new', base: 'base', either: 'the larger' };

/** A change as people say it: `+1.20 ms`. @param {number} change @param {(value: number) => string} say */
function signed(change, say) {
  return change > 0 ? `+${say(change)}` : change < 0 ? `−${say(-change)}` : '0';
}

/** A change in percent of the base; a word where there is no base. @param {number} base @param {number} now */
function grown(base, now) {
  if (base <= 0) return now > 0 ? 'new' : '';
  if (now <= 0) return 'gone';
  return signed(((now - base) / base) * 100, (value) => `${value.toFixed(value >= 10 ? 0 : 1)} %`);
}

/** Whether a number of a method changed by more than noise. @param {string} metric @param {number} fn */
function changeOf(metric, fn) {
  return COMPARED.metrics[metric]?.[fn] ?? null;
}

/** The metric of the comparison that a metric of paths is judged by. */
const JUDGED = { running: 'total', waiting: 'waiting', cpu: 'cpu', calls: 'calls', bytes: 'total-bytes' };

/** Colours by what became of frames: warm what takes more, cold what takes less, pale what may be noise. */
class ChangeColours {
  /** @param {any} tree @param {string} metric */
  constructor(tree, metric) {
    [this.base, this.now] = [tree.total(metric, true), tree.total(metric)];
    this.tree = tree;
    this.judged = JUDGED[metric];
  }

  /** @param {boolean} isDark */
  theme(isDark) {
    this.isDark = isDark;
  }

  /** @param {number} fn @param {number} node */
  colour(fn, node) {
    const [base, now] = [this.base[node], this.now[node]];
    const most = Math.max(base, now);
    let ratio = most > 0 ? (now - base) / most : 0;
    const change = FUNCTIONS.isOther(fn) || !this.judged ? null : changeOf(this.judged, fn);
    if (change && !change.counts) ratio *= 0.25;
    return this.shade(ratio);
  }

  /** @param {number} ratio from -1, gone, to 1, new */
  shade(ratio) {
    const strength = Math.sqrt(Math.abs(ratio));
    const light = this.isDark ? 36 + 16 * strength : 92 - 18 * strength;
    return `oklch(${light.toFixed(1)}% ${(0.008 + 0.14 * strength).toFixed(3)} ${ratio > 0 ? 35 : 250})`;
  }

  /** What the colours mean. */
  legend() {
    const labels = [
      [-1, 'gone'],
      [-0.2, 'faster'],
      [0, 'the same, or noise'],
      [0.2, 'slower'],
      [1, 'new'],
    ];
    return labels.map(([ratio, label]) => {
      const swatch = element('i', { 'aria-hidden': 'true' });
      swatch.style.background = this.shade(Number(ratio));
      return element('li', {}, swatch, String(label));
    });
  }
}

/** The columns of the table of methods: medians of the runs of each side. */
const COMPARED_COLUMNS = (() => {
  const number = (metric, side, label, title, say, some = false) => ({
    key: `${metric}-${side}`,
    label,
    title,
    say,
    some,
    judged: side === 'change' || side === 'changePercent' ? metric : null,
    of: (fn) => changeOf(metric, fn)?.[side] ?? undefined,
  });
  const time0 = (value) => (value === 0 ? '0' : time(value));
  const change = (say) => (value) => signed(value, say);
  const part = (value) => signed(value, (percents) => `${percents.toFixed(1)} %`);
  return [
    { key: 'name', label: 'Method', title: 'Its name', text: true },
    number('self', 'base', 'Self, base', 'Running in it alone, in the base', time0),
    number('self', 'new', 'Self, new', 'Running in it alone, in the new runs', time0),
    number('self', 'change', 'Change', 'The new less the base', change(time)),
    number('self', 'changePercent', 'in %', 'The same in percent of the base', part),
    number('self', 'p', 'p', 'How likely chance makes such a difference', (value) => value.toFixed(3), true),
    number('total', 'base', 'Total, base', 'Running, with what it calls, in the base', time0),
    number('total', 'new', 'Total, new', 'Running, with what it calls, in the new runs', time0),
    number('total', 'change', 'Change', 'The new less the base', change(time)),
    number('waiting', 'change', 'Waiting', 'In calls that wait: the new less the base', change(time), true),
    number('calls', 'base', 'Calls, base', 'How often it was called in the base', count),
    number('calls', 'new', 'Calls, new', 'How often it was called in the new runs', count),
    number('bytes', 'base', 'Bytes, base', 'Bytes that it alone allocated in the base', size, true),
    number('bytes', 'new', 'Bytes, new', 'Bytes that it alone allocated in the new runs', size, true),
    number('bytes', 'change', 'Change', 'The new less the base', change(size), true),
    number('total-bytes', 'change', 'With callees', 'Bytes with what it calls: the new less the base', change(size), true),
  ];
})();

/** What is known of a method on both sides, as a table. @param {number} fn */
function comparedFacts(fn) {
  const head = element(
    'tr',
    {},
    ...['', 'Base', 'New', 'Change', ''].map((text) => element('th', { scope: 'col' }, text)),
  );
  const rows = Object.keys(COMPARED.metrics).flatMap((metric) => {
    const change = changeOf(metric, fn);
    if (!change || (change.base === 0 && change.new === 0)) return [];
    const say = metric === 'calls' ? count : metric.endsWith('bytes') ? size : time;
    const cell = (text, side) => element('td', { class: 'number', 'data-column': `${metric}-${side}` }, text);
    const cells = [
      cell(say(change.base), 'base'),
      cell(say(change.new), 'new'),
      cell(signed(change.change, say), 'change'),
    ];
    const more = [grown(change.base, change.new), change.p === null ? '' : `p ${change.p.toFixed(3)}`].filter(Boolean);
    return [
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, metric),
        ...cells,
        element('td', { class: change.counts ? 'counts' : 'dim' }, more.join(', ')),
      ),
    ];
  });
  return element('table', { class: 'facts' }, element('thead', {}, head), element('tbody', {}, ...rows));
}

/** What is said of the whole program: label, number, and what it was before. */
function comparedTiles() {
  const label = (name) => (name === 'cpu' ? 'CPU' : name[0].toUpperCase() + name.slice(1));
  const say = (name) => (name === 'bytes' ? size : time);
  const tiles = Object.entries(COMPARED.program).map(([name, { base, new: now }]) => [
    `${label(name)}, ${grown(base, now)}`,
    say(name)(now),
    `${say(name)(base)} in the base`,
  ]);
  const said = (verdict) => COMPARED.verdicts.filter((each) => each === verdict).length;
  const pair = (one, other) => [`${one}, ${other}`, `${said(one)}, ${said(other)}`];
  return [...tiles, pair('slower', 'faster'), pair('new', 'gone')];
}
