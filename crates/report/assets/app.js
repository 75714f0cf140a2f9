// What is shown, and what changes it. The address's hash has all of it, so that a link shows the same.

const VIEWS = {
  flame: 'Flame graph',
  table: 'Methods',
  tree: 'Tree',
  callers: 'Callers & callees',
  phases: 'Phases',
  lines: 'Lines',
};
const KEYS = [
  ['1 – 6', 'the views'],
  ['/', 'search; re: before a regular expression'],
  ['n, N', 'the next frame that was found, the one before'],
  ['arrows', 'move in the graph, the tree, the tables'],
  ['Enter', 'zoom to a frame; callers and callees of a row'],
  ['Escape', 'zoom out; leave the search'],
  ['+, −', 'wider, narrower; Ctrl and the wheel do so too'],
  ['i', 'icicle or flame'],
  ['c', 'callers and callees of what is selected'],
  ['d', 'dark or light'],
  ['?', 'this'],
];
const DEFAULTS = {
  view: 'flame',
  metric: '',
  threads: 'merged',
  phase: 0,
  direction: 'icicle',
  colour: '',
  sort: DATA.compared ? '-self-change' : '-self',
  widths: 'new',
  search: '',
  theme: '',
  zoom: 0,
  node: 0,
  method: -1,
  file: 0,
};
const NARROW = 700;
const KEPT = DATA.kept && new Set(DATA.kept);

const App = {
  /** @type {any} */ state: { ...DEFAULTS },
  /** @type {any} */ views: {},
  trees: new Map(),

  start() {
    byId('title').textContent = DATA.title;
    this.views = {
      flame: new FlameGraph(this),
      table: new Table(this),
      tree: new TreeView(this),
      callers: new Callers(this),
      phases: new Phases(this),
      lines: new Lines(this),
    };
    this.metrics = Object.keys(METRICS).filter((metric) =>
      METRICS[metric].of.some((column) => DATA.spans[0].trees.some((tree) => tree[column]?.some((value) => value > 0))),
    );
    if (!this.metrics.includes('waiting')) this.metrics = this.metrics.filter((metric) => metric !== 'elapsed');
    DEFAULTS.metric = this.metrics[0] ?? 'calls';
    const different = (of) =>
      new Set(
        Array.from({ length: FUNCTIONS.count }, (_, fn) => (FUNCTIONS.waits(fn) ? null : of(fn))).filter(
          (group) => group !== null,
        ),
      ).size;
    DEFAULTS.colour = different(COLOURINGS.namespace.of) > 2 ? 'namespace' : 'type';
    this.viewNames = Object.keys(VIEWS).filter(
      (view) => (view !== 'phases' || DATA.spans.length > 1) && (view !== 'lines' || DATA.lines),
    );
    this.addTabs();
    this.addDialogs();
    byId('search').addEventListener('input', (event) => this.set({ search: event.target.value }));
    byId('search').addEventListener('keydown', (event) => this.searchKey(event));
    byId('theme').addEventListener('click', () => this.set({ theme: this.isDark ? 'light' : 'dark' }));
    document.addEventListener('keydown', (event) => this.key(event));
    addEventListener('popstate', () => this.restore());
    addEventListener('hashchange', () => this.restore());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.show());
    matchMedia(`(max-width: ${NARROW}px)`).addEventListener('change', () => this.show());
    this.restore();
  },

  get isNarrow() {
    return innerWidth <= NARROW;
  },
  get isDark() {
    return this.state.theme ? this.state.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  },
  get span() {
    return DATA.spans[this.state.phase];
  },
  get isAllThreads() {
    return this.state.threads === 'merged' || this.state.threads === 'apart';
  },

  /**
   * Changes what is shown.
   * @param {Object<string, any>} changes @param {boolean} [isStep] whether the browser's Back undoes it
   */
  set(changes, isStep) {
    const before = { ...this.state };
    const path = this.tree?.path(this.state.zoom) ?? [];
    Object.assign(this.state, changes);
    const changed = (name) => before[name] !== this.state[name];
    if (changed('threads') || changed('phase')) {
      this.derive();
      // The same path, as far as it is there.
      this.state.zoom = this.state.node = this.tree.find(
        this.state.threads === 'apart' || before.threads === 'apart' ? [] : path,
      );
    }
    if (changed('node') && !FUNCTIONS.isOther(this.tree.fn[this.state.node]))
      this.state.method = this.tree.fn[this.state.node];
    if (changed('search')) this.findMatches();
    this.remember(Boolean(isStep));
    const light = ['node', 'zoom', 'sort'].concat(this.state.view === 'callers' ? [] : ['method']);
    if (Object.keys(this.state).some((name) => changed(name) && !light.includes(name))) this.show();
    else this.drawDetail();
  },

  /** What the tables and trees show, of the phase and the threads chosen. */
  derive() {
    const { phase, threads } = this.state;
    const key = `${phase} ${threads}`;
    if (!this.trees.has(key)) {
      const trees = this.isAllThreads ? this.span.trees : [this.span.trees[Number(threads)]];
      const isOne = trees.length === 1 && (!this.isAllThreads || this.span.threads === 1);
      this.trees.set(key, Tree.of(isOne ? trees[0].name : 'all threads', trees, threads === 'apart'));
    }
    this.tree = this.trees.get(key);
    const { methods } = this.span;
    /** @type {Object<string, Map<number, any>>} */ this.methods = {};
    for (const [column, values] of Object.entries(methods)) {
      this.methods[column] = new Map(
        methods.function.map((fn, index) => [fn, values[index]]).filter(([, value]) => value !== null),
      );
    }
    const sums = this.tree.functions;
    this.rows = [];
    for (let fn = 0; fn < FUNCTIONS.count; fn++) {
      // What a filter left out is in the graph alone.
      if (KEPT && !KEPT.has(fn)) continue;
      if (COMPARED ? fn >= COMPARED.verdicts.length : !sums.calls[fn] && sums.total[fn] <= 0 && sums.waiting[fn] <= 0)
        continue;
      const row = { fn, name: FUNCTIONS.name(fn) };
      for (const [column, values] of Object.entries(sums)) row[column] = Math.max(0, values[fn]);
      row.average = row.calls ? ((row.total + row.waiting) * MS) / row.calls : undefined;
      if (COMPARED) for (const { key, of } of COMPARED_COLUMNS) row[key] = of ? of(fn) : row[key];
      else if (this.isAllThreads)
        for (const column of ['average', 'p50', 'p95', 'max', 'first']) row[column] = this.methods[column].get(fn);
      this.rows.push(row);
    }
    // Of a comparison they are in the order of what changed.
    if (!COMPARED) this.rows.sort((one, other) => other.self - one.self || other.calls - one.calls);
    this.rowOf = new Map(this.rows.map((row) => [row.fn, row]));
    this.findMatches();
  },

  /** Which functions the search finds; null: nothing is looked for. */
  findMatches() {
    const text = this.state.search.trim();
    this.matches = null;
    this.found = null;
    byId('search').removeAttribute('aria-invalid');
    if (!text) return;
    let test = (name) => name.toLowerCase().includes(text.toLowerCase());
    if (text.startsWith('re:')) {
      try {
        const expression = new RegExp(text.slice(3), 'i');
        test = (name) => expression.test(name);
      } catch {
        byId('search').setAttribute('aria-invalid', 'true');
        return;
      }
    }
    this.matches = Uint8Array.from({ length: FUNCTIONS.count }, (_, fn) => Number(test(FUNCTIONS.name(fn))));
  },

  /** The frames that the search finds, each with all that it calls. */
  matched() {
    const { tree } = this;
    const total = tree.total(this.state.metric);
    const nodes = [];
    let [value, outermost] = [0, 0];
    for (let node = 0; node < tree.size; node++) {
      if (FUNCTIONS.isOther(tree.fn[node]) || !this.matches[tree.fn[node]]) continue;
      nodes.push(node);
      if (node >= outermost) [value, outermost] = [value + total[node], tree.end[node]];
    }
    return { nodes, value };
  },

  show() {
    const { state } = this;
    document.documentElement.dataset.theme = this.isDark ? 'dark' : 'light';
    if (COMPARED) {
      this.palette = new ChangeColours(this.tree, state.metric);
    } else if (!this.palette || this.palette.name !== state.colour) {
      this.palette = new Palette(COLOURINGS[state.colour].of);
      this.palette.name = state.colour;
    }
    this.palette.theme(this.isDark);
    this.drawHead();
    this.drawToolbar();
    for (const tab of byId('tabs').children) {
      const isShown = tab.dataset.view === state.view;
      tab.setAttribute('aria-selected', String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
    }
    const { panel } = this.views[state.view];
    const main = document.querySelector('main');
    if (main.firstChild !== panel) main.replaceChildren(panel);
    main.setAttribute('aria-label', VIEWS[state.view]);
    this.tip(-1);
    this.views[state.view].show();
    this.drawFound();
    this.drawDetail();
  },

  drawHead() {
    const { span, tree } = this;
    const sides = COMPARED && `${COMPARED.names[0]} and ${COMPARED.names[1]}`;
    byId('facts').textContent = [
      sides,
      DATA.runtime,
      !COMPARED && `process ${DATA.pid}`,
      DATA.mode,
      DATA.clock && `clock ${DATA.clock}`,
      DATA.end,
      span.name && `phase ${span.name}`,
    ]
      .filter(Boolean)
      .join(' · ');
    const sums = tree.functions;
    const sum = (column) => sums[column].reduce((sum, value) => sum + value, 0);
    const [running, waiting] = [tree.total('running')[0], tree.total('waiting')[0]];
    const exceptions = sum('exceptions');
    const tiles = COMPARED
      ? comparedTiles()
      : [
          ['Took', time(span.milliseconds)],
          ['Running', running ? time(running * MS) : null],
          ['Waiting', waiting ? time(waiting * MS) : null],
          ['CPU', DATA.cpuMs !== null && !this.state.phase && this.isAllThreads ? time(DATA.cpuMs) : null],
          ['Threads', this.isAllThreads && span.threads ? count(span.threads) : null],
          ['Methods', count(this.rows.length)],
          ['Calls', count(sum('calls'))],
          ['Exceptions', exceptions ? count(exceptions) : null],
          ['Allocated', tree.total('bytes')[0] ? size(tree.total('bytes')[0]) : null],
        ];
    byId('tiles').replaceChildren(
      ...tiles
        .filter(([, value]) => value !== null)
        .map(([label, value, title]) => element('div', { title }, element('dt', {}, label), element('dd', {}, value))),
    );
  },

  drawToolbar() {
    const { state } = this;
    const choice = (name, label, choices) => {
      if (choices.length < 2) return null;
      const options = choices.map(([value, text]) =>
        element('option', { value, selected: String(value) === String(state[name]) }, text),
      );
      const select = element(
        'select',
        {
          id: `choose-${name}`,
          onchange: (event) =>
            this.set({ [name]: name === 'phase' ? Number(event.target.value) : event.target.value }, true),
        },
        ...options,
      );
      return element('label', {}, element('span', {}, label), select);
    };
    const threads = this.span.trees.map((tree, index) => [String(index), tree.name]);
    const several = [['merged', 'all, merged'], ['apart', 'all, one by one'], ...threads];
    const focused = document.activeElement?.id;
    const isGraph = state.view === 'flame';
    const isOfRun = state.view === 'phases' || state.view === 'lines';
    const tools = [
      state.view === 'table' || isOfRun
        ? null
        : choice(
            'metric',
            'By',
            this.metrics.map((metric) => [metric, METRICS[metric].label]),
          ),
      isOfRun ? null : choice('threads', 'Threads', threads.length > 1 ? several : []),
      isOfRun
        ? null
        : choice(
            'phase',
            'Phase',
            DATA.spans.map((span, index) => [index, span.name || 'the whole']),
          ),
      isGraph
        ? choice('direction', 'As', [
            ['icicle', 'icicle'],
            ['flame', 'flame'],
          ])
        : null,
      isGraph && COMPARED ? choice('widths', 'As wide as', Object.entries(WIDTHS)) : null,
      isGraph && !COMPARED
        ? choice(
            'colour',
            'Colours',
            Object.entries(COLOURINGS).map(([value, { label }]) => [value, label.toLowerCase()]),
          )
        : null,
      isGraph ? element('button', { id: 'reset', onclick: () => this.views.flame.zoom(0) }, 'Reset zoom') : null,
    ];
    byId('toolbar').replaceChildren(...tools.filter((tool) => tool !== null));
    byId('toolbar').hidden = tools.every((tool) => tool === null);
    if (focused?.startsWith('choose-')) byId(focused)?.focus();
  },

  drawFound() {
    const found = byId('found');
    if (byId('search').value !== this.state.search) byId('search').value = this.state.search;
    found.textContent = '';
    if (this.matches === null) return;
    const { metric } = this.state;
    const { nodes, value } = this.matched();
    const methods = this.rows.filter((row) => this.matches[row.fn]).length;
    this.found = nodes;
    found.textContent = methods
      ? `${counted(methods, 'method')}, ${percent(value, this.tree.total(metric)[0])}`
      : 'nothing found';
  },

  /** The line below all: what is selected. */
  drawDetail() {
    const { tree, state } = this;
    const node = Math.min(state.node, tree.size - 1);
    const detail = byId('detail');
    detail.hidden = state.view !== 'flame' && state.view !== 'tree';
    if (detail.hidden) return;
    const isMethod = !FUNCTIONS.isOther(tree.fn[node]);
    detail.replaceChildren(
      methodName(tree.fn[node]),
      ...this.facts(node).map(([label, value]) =>
        element('span', { 'data-fact': label }, `${label} `, element('b', {}, value)),
      ),
      ...(isMethod
        ? [
            element(
              'button',
              { onclick: () => this.set({ view: 'callers', method: tree.fn[node] }, true) },
              'Callers & callees',
            ),
          ]
        : []),
    );
  },

  /** What is known of a path. @param {number} node @returns {[string, string][]} */
  facts(node) {
    const { tree } = this;
    const { metric } = this.state;
    const { say } = METRICS[metric];
    const [total, self, calls] = [tree.total(metric), tree.self(metric), tree.own.calls];
    if (COMPARED) {
      const [base, selfBase] = [tree.total(metric, true)[node], tree.self(metric, true)[node]];
      const callsChange = `${count(tree.own.callsBase[node])} → ${count(calls[node])}`;
      return [
        ['base', say(base)],
        ['new', say(total[node])],
        ['change', `${signed(total[node] - base, say)} ${grown(base, total[node])}`.trim()],
        ['self', signed(self[node] - selfBase, say)],
        ...(metric === 'calls' ? [] : [['calls', callsChange]]),
      ];
    }
    const [of, counts] = [tree.parent[node], tree.counts(node)];
    return [
      ['total', `${words(metric, total[node], tree.errors[node], counts)} (${percent(total[node], total[0])})`],
      ['self', words(metric, self[node], tree.own.error[node], counts)],
      ...(of > 0 ? [['of its caller', percent(total[node], total[of])]] : []),
      ...(metric !== 'calls' && calls[node] ? [['calls', count(calls[node])]] : []),
    ];
  },

  /** What is said of a frame under the pointer. @param {number} node @param {PointerEvent} [event] */
  tip(node, event) {
    const tip = byId('tip');
    tip.hidden = node < 0 || !event || event.pointerType === 'touch';
    if (tip.hidden || !event) return void (tip.dataset.node = '');
    const { tree } = this;
    if (tip.dataset.node !== String(node)) {
      tip.dataset.node = String(node);
      const fn = tree.fn[node];
      tip.replaceChildren(
        methodName(fn),
        element(
          'p',
          {},
          this.facts(node)
            .map(([label, value]) => `${label} ${value}`)
            .join(' · '),
        ),
        ...(FUNCTIONS.isOther(fn)
          ? []
          : [element('p', { class: 'dim' }, FUNCTIONS.assembly(fn), ' ', ...this.remarks(fn))]),
      );
    }
    const [x, y] = [event.clientX + 14, event.clientY + 18];
    tip.style.left = `${Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + tip.offsetHeight > innerHeight - 8 ? event.clientY - tip.offsetHeight - 10 : y}px`;
  },

  /** @param {number} fn */
  remarks(fn) {
    if (FUNCTIONS.isOther(fn)) return [];
    const verdict = COMPARED?.verdicts[fn];
    const remarks = COMPARED
      ? [verdict].filter((word) => word && word !== 'same')
      : (this.methods.remarks.get(fn) ?? []);
    return remarks.map((text) => element('small', { class: `remark ${verdict ?? ''}` }, text));
  },

  /** Zooms to where a method took most. @param {number} fn */
  showInGraph(fn) {
    const total = this.tree.total(this.state.metric);
    let best = -1;
    for (let node = 0; node < this.tree.size; node++)
      if (this.tree.fn[node] === fn && (best < 0 || total[node] > total[best])) best = node;
    if (best >= 0) this.set({ view: 'flame', zoom: best, node: best, search: '' }, true);
  },

  addTabs() {
    byId('tabs').append(
      ...this.viewNames.map((view) =>
        element('button', { role: 'tab', 'data-view': view, onclick: () => this.set({ view }, true) }, VIEWS[view]),
      ),
    );
    byId('tabs').addEventListener('keydown', (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const next = (this.viewNames.indexOf(this.state.view) + by + this.viewNames.length) % this.viewNames.length;
      this.set({ view: this.viewNames[next] }, true);
      byId('tabs').children[next].focus();
    });
  },

  addDialogs() {
    byId('keys')
      .querySelector('dl')
      .append(
        ...KEYS.flatMap(([keys, what]) => [
          element('dt', {}, ...keys.split(', ').map((key) => element('kbd', {}, key))),
          element('dd', {}, what),
        ]),
      );
    byId('help').addEventListener('click', () => byId('keys').showModal());
    const [attention, ...commands] = DATA.attention;
    byId('attention').hidden = !attention;
    byId('attention').append(attention ?? '', ...commands.map((command) => element('code', {}, command)));
    byId('notes')
      .querySelector('ul')
      .append(...DATA.notes.map((note) => element('li', {}, note)));
    byId('notes-button').hidden = DATA.notes.length === 0;
    byId('notes-button').textContent = counted(DATA.notes.length, 'note');
    byId('notes-button').addEventListener('click', () => byId('notes').showModal());
  },

  /** @param {KeyboardEvent} event */
  searchKey(event) {
    if (event.key === 'Escape') {
      if (this.state.search) this.set({ search: '' });
      else event.target.blur();
    } else if (event.key === 'Enter') {
      this.next(event.shiftKey ? -1 : 1);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  },

  /** @param {KeyboardEvent} event */
  key(event) {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target.matches('input, select') ||
      document.querySelector('dialog[open]')
    )
      return;
    const view = this.viewNames[Number(event.key) - 1];
    if (view) this.set({ view }, true);
    else if (event.key === '/') byId('search').select();
    else if (event.key === 'n' || event.key === 'N') this.next(event.key === 'n' ? 1 : -1);
    else if (event.key === 'i')
      this.set({ view: 'flame', direction: this.state.direction === 'icicle' ? 'flame' : 'icicle' });
    else if (event.key === 'c') this.set({ view: 'callers' }, true);
    else if (event.key === 'd') byId('theme').click();
    else if (event.key === '?') byId('keys').showModal();
    else return;
    event.preventDefault();
    const panel = this.views[this.state.view].panel;
    if (view) (panel.matches('[tabindex]') ? panel : panel.querySelector('[tabindex]'))?.focus({ preventScroll: true });
  },

  /** Selects the next that the search found. @param {number} by */
  next(by) {
    if (!this.found?.length) return;
    const at = this.found.indexOf(this.state.node);
    const next =
      this.found[at < 0 ? (by > 0 ? 0 : this.found.length - 1) : (at + by + this.found.length) % this.found.length];
    if (this.state.view === 'tree') return this.views.tree.reveal(next);
    this.set({ view: 'flame', node: next });
    this.views.flame.view(this.views.flame.tree.parent[next] > 0 ? this.tree.parent[next] : 0, true);
  },

  /** Writes the state into the address. @param {boolean} isStep */
  remember(isStep) {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(this.state)) {
      if (name === 'zoom') {
        if (value) words.set(name, this.tree.path(value).join('.'));
      } else if (name !== 'node' && value !== DEFAULTS[name] && !(name === 'method' && this.state.view !== 'callers'))
        words.set(name, String(value));
    }
    const hash = `#${words}`;
    if (hash === (location.hash || '#')) return;
    this.written = hash;
    if (isStep) history.pushState(null, '', hash);
    else history.replaceState(null, '', hash);
  },

  /** Reads the state from the address; what makes no sense in it is left out. */
  restore() {
    if (this.written === location.hash && this.tree) return;
    this.written = location.hash;
    const words = new URLSearchParams(location.hash.slice(1));
    const state = { ...DEFAULTS };
    const take = (name, isGood) => {
      const value = words.get(name);
      if (value !== null && isGood(value)) state[name] = value;
    };
    take('view', (value) => this.viewNames.includes(value));
    take('metric', (value) => this.metrics.includes(value));
    take('direction', (value) => value === 'flame');
    take('widths', (value) => COMPARED !== null && Object.hasOwn(WIDTHS, value));
    take('colour', (value) => Object.hasOwn(COLOURINGS, value));
    take('sort', (value) =>
      (COMPARED ? COMPARED_COLUMNS : TABLE).some((column) => column.key === value.replace(/^-/, '')),
    );
    take('theme', (value) => value === 'dark' || value === 'light');
    take('search', () => true);
    state.file = Math.min((DATA.lines?.length ?? 1) - 1, Math.max(0, Math.trunc(Number(words.get('file'))) || 0));
    state.phase = Math.min(DATA.spans.length - 1, Math.max(0, Number(words.get('phase')) || 0));
    take(
      'threads',
      (value) => value === 'merged' || value === 'apart' || DATA.spans[state.phase].trees[Number(value)] !== undefined,
    );
    const method = Number(words.get('method') ?? -1);
    state.method = method >= 0 && method < FUNCTIONS.count ? method : -1;
    this.state = state;
    this.derive();
    state.zoom = state.node = this.tree.find((words.get('zoom') ?? '').split('.').filter(Boolean).map(Number));
    this.show();
  },
};

App.start();
