// What the data says: functions, call trees in preorder, and what is added up of them.

/**
 * @typedef {'running'|'waiting'|'elapsed'|'cpu'|'calls'|'exceptions'|'bytes'} Metric
 * @typedef {{name: string, milliseconds: number, threads: number, trees: any[], methods: any}} Span
 */

/** A time in ticks, with the digits that its possible error allows. @param {number} ticks @param {number} [error] */
const ticksAsTime = (ticks, error = 0) => roughTime(ticks * MS, error * MS);

/** What can be measured, and how it is said. `of` lists the columns that it is the sum of. */
const METRICS = {
  running: { label: 'Time running', short: 'Running', of: ['self'], say: ticksAsTime },
  waiting: { label: 'Time waiting', short: 'Waiting', of: ['waiting'], say: (value) => time(value * MS) },
  elapsed: { label: 'Running and waiting', short: 'Time', of: ['self', 'waiting'], say: ticksAsTime },
  cpu: { label: 'CPU time (sampled)', short: 'CPU', of: ['cpu'], say: (value) => time(value / 1e6) },
  calls: { label: 'Calls', short: 'With callees', of: ['calls'], say: count },
  exceptions: { label: 'Exceptions', short: 'Exceptions', of: ['exceptions'], say: count },
  bytes: { label: 'Bytes allocated', short: 'Bytes', of: ['bytes'], say: size },
};

/**
 * A running time as text. The time of calls that are only counted is not known, but for that of their callees.
 * @param {number} ticks @param {number} error @param {{calls: number, counted: number}} of
 */
function ticksOf(ticks, error, { calls, counted }) {
  return counted > 0 && counted >= calls && ticks === 0 ? '–' : ticksAsTime(ticks, error);
}

/** A number as text. @param {Metric} metric @param {number} value @param {number} error @param {{calls: number, counted: number}} of */
function words(metric, value, error, of) {
  return METRICS[metric].of.includes('self') ? ticksOf(value, error, of) : METRICS[metric].say(value);
}

const OWN = ['calls', 'counted', 'self', 'error', 'waiting', 'exceptions', 'cpu', 'bytes'];

const DATA = JSON.parse(byId('data').textContent);
/** Milliseconds in a tick. */
const MS = 1e3 / DATA.ticksPerSecond;
/** The columns of paths; with a base, its own beside. */
const COLUMNS = DATA.compared ? OWN.concat(OWN.map((column) => `${column}Base`)) : OWN;

/** The functions: what they are called, and what stands for threads among them. */
const FUNCTIONS = (() => {
  const { strings, types, members, memberTypes, tokens, lines, waits } = DATA.functions;
  const isWaiting = new Uint8Array(members.length);
  for (const index of waits) isWaiting[index] = 1;
  const typeOf = (index) => types[memberTypes[index]] ?? [0, 0, 0];
  /** @type {string[]} Names of what is no function: threads, and all of them. */
  const others = [];
  return {
    count: members.length,
    /** Something else that can be a frame. @param {string} name */
    other(name) {
      const known = others.indexOf(name);
      return members.length + (known < 0 ? others.push(name) - 1 : known);
    },
    isOther: (index) => index >= members.length,
    waits: (index) => isWaiting[index] === 1,
    member: (index) => members[index] ?? others[index - members.length],
    type: (index) => (index < members.length ? strings[typeOf(index)[0]] : ''),
    namespace: (index) => strings[typeOf(index)[1]] ?? '',
    assembly: (index) => strings[typeOf(index)[2]] ?? '',
    token: (index) => tokens[index] ?? '',
    /** Where its source begins; empty if it is not known. @param {number} index */
    source: (index) => (lines[index] ? `${strings[lines[index][0]]}:${lines[index][1]}` : ''),
    name(index) {
      const type = this.type(index);
      return type ? `${type}.${this.member(index)}` : this.member(index);
    },
    /** Its name without its namespace. @param {number} index */
    short(index) {
      const [name, namespace] = [this.name(index), index < members.length ? this.namespace(index) : ''];
      return namespace && name.startsWith(namespace + '.') ? name.slice(namespace.length + 1) : name;
    },
  };
})();

/** Call paths in preorder; the first is what stands for all. */
class Tree {
  /** @param {number} size */
  constructor(size) {
    this.size = size;
    this.fn = new Int32Array(size);
    this.parent = new Int32Array(size).fill(-1);
    this.depth = new Int32Array(size);
    /** Behind the last of all that it calls. */
    this.end = new Int32Array(size);
    /** @type {Object<string, Float64Array>} What is each path's own. */
    this.own = {};
    for (const column of COLUMNS) this.own[column] = new Float64Array(size);
    this.totals = new Map();
    this.layouts = new Map();
  }

  /** Trees under one root of a name, each by itself or merged. @param {string} name @param {any[]} trees @param {boolean} apart */
  static of(name, trees, apart) {
    const size = trees.reduce((sum, tree) => sum + tree.depth.length, 1 + (apart ? trees.length : 0));
    const all = new Tree(size);
    all.fn[0] = FUNCTIONS.other(name);
    let next = 1;
    for (const tree of trees) {
      const open = [0];
      if (apart) {
        all.fn[next] = FUNCTIONS.other(tree.name);
        all.parent[next] = 0;
        open.push(next++);
      }
      const base = open.length;
      const columns = COLUMNS.map((column) => [all.own[column], tree[column]]).filter(([, from]) => from);
      for (let index = 0; index < tree.depth.length; index++, next++) {
        open.length = base + tree.depth[index];
        all.fn[next] = tree.function[index];
        all.parent[next] = open[open.length - 1];
        for (const [into, from] of columns) into[next] = from[index];
        open.push(next);
      }
    }
    all.finish();
    return apart || trees.length < 2 ? all : all.merged();
  }

  /** Depths and ends, by the parents. */
  finish() {
    for (let node = 1; node < this.size; node++) this.depth[node] = this.depth[this.parent[node]] + 1;
    for (let node = this.size - 1; node >= 0; node--) {
      this.end[node] = Math.max(this.end[node], node + 1);
      const parent = this.parent[node];
      if (parent >= 0) this.end[parent] = Math.max(this.end[parent], this.end[node]);
    }
  }

  /** Paths that are the same, once. */
  merged() {
    const functions = FUNCTIONS.count + 1e6;
    const place = new Int32Array(this.size);
    const known = new Map();
    /** @type {number[]} */ const first = [0];
    /** @type {number[]} */ const parents = [-1];
    for (let node = 1; node < this.size; node++) {
      const parent = place[this.parent[node]];
      const key = parent * functions + this.fn[node];
      let found = known.get(key);
      if (found === undefined) {
        found = first.push(node) - 1;
        parents.push(parent);
        known.set(key, found);
      }
      place[node] = found;
    }
    // Not in preorder yet: what a later thread called stands behind all else.
    const children = childrenOf(Int32Array.from(parents));
    const merged = new Tree(first.length);
    const where = new Int32Array(first.length);
    const next = [0];
    for (let count = 0; next.length; count++) {
      const old = /** @type {number} */ (next.pop());
      where[old] = count;
      merged.fn[count] = this.fn[first[old]];
      merged.parent[count] = old ? where[parents[old]] : -1;
      for (let at = children.start[old + 1] - 1; at >= children.start[old]; at--) next.push(children.list[at]);
    }
    for (const column of COLUMNS) {
      const [into, from] = [merged.own[column], this.own[column]];
      for (let node = 0; node < this.size; node++) into[where[place[node]]] += from[node];
    }
    merged.finish();
    return merged;
  }

  /** What each path has itself, also in the base. @param {Metric} metric @param {boolean} [isBase] */
  self(metric, isBase) {
    const columns = METRICS[metric].of.map((column) => this.own[isBase ? `${column}Base` : column]);
    return columns.length === 1 ? columns[0] : columns[0].map((value, node) => value + columns[1][node]);
  }

  /** What each path has with all that it calls. @param {Metric} metric @param {boolean} [isBase] @returns {Float64Array} */
  total(metric, isBase) {
    const key = `${metric} ${Boolean(isBase)}`;
    let total = this.totals.get(key);
    if (!total) {
      total = this.added(Float64Array.from(this.self(metric, isBase)));
      this.totals.set(key, total);
    }
    return total;
  }

  /** How often a path was called, and how many of its calls were only counted. @param {number} node */
  counts(node) {
    return { calls: this.own.calls[node], counted: this.own.counted[node] };
  }

  /** The possible error of each path's time running, with all that it calls. */
  get errors() {
    return (this.errorTotals ??= this.added(Float64Array.from(this.own.error)));
  }

  /** Adds to each path what it calls. @param {Float64Array} values */
  added(values) {
    for (let node = this.size - 1; node > 0; node--) values[this.parent[node]] += values[node];
    return values;
  }

  /**
   * Where each path is in a graph: callees below their callers, the largest first.
   * @param {Metric} metric @param {string} [widths]
   */
  layout(metric, widths = 'new') {
    const key = `${metric} ${widths}`;
    let layout = this.layouts.get(key);
    if (!layout) {
      // Where threads ran on while the profile was written, callees may have more than their caller: no width is below 0.
      let own = this.self(metric, widths === 'base').map((value) => Math.max(0, value));
      if (widths === 'either') {
        const base = this.self(metric, true);
        own = own.map((value, node) => Math.max(value, base[node]));
      }
      const width = this.added(own);
      const order = new Uint32Array(this.size).map((_, node) => node);
      order.sort((one, other) => width[other] - width[one] || one - other);
      const children = childrenOf(this.parent, order);
      const start = new Float64Array(this.size);
      for (let node = 0; node < this.size; node++) {
        let at = start[node];
        for (let index = children.start[node]; index < children.start[node + 1]; index++) {
          start[children.list[index]] = at;
          at += width[children.list[index]];
        }
      }
      let depth = 0;
      for (let node = 0; node < this.size; node++) if (width[node] > 0) depth = Math.max(depth, this.depth[node]);
      layout = { width, start, children, depth };
      this.layouts.set(key, layout);
    }
    return layout;
  }

  /** What each function has, itself and with what it calls; what it calls by itself again is not counted twice. */
  get functions() {
    if (this.sums) return this.sums;
    const zeros = () => new Float64Array(FUNCTIONS.count);
    const sums = {
      calls: zeros(),
      counted: zeros(),
      self: zeros(),
      error: zeros(),
      total: zeros(),
      errorTotal: zeros(),
      waiting: zeros(),
      exceptions: zeros(),
      cpu: zeros(),
      cpuTotal: zeros(),
      bytes: zeros(),
      bytesTotal: zeros(),
    };
    const [running, waiting, cpu] = [this.total('running'), this.total('waiting'), this.total('cpu')];
    const bytes = this.total('bytes');
    const { errors } = this;
    this.walk((node, isOutermost) => {
      const fn = this.fn[node];
      sums.calls[fn] += this.own.calls[node];
      sums.counted[fn] += this.own.counted[node];
      sums.self[fn] += this.own.self[node];
      sums.error[fn] += this.own.error[node];
      sums.exceptions[fn] += this.own.exceptions[node];
      sums.cpu[fn] += this.own.cpu[node];
      sums.bytes[fn] += this.own.bytes[node];
      if (isOutermost) {
        sums.total[fn] += running[node];
        sums.errorTotal[fn] += errors[node];
        sums.waiting[fn] += waiting[node];
        sums.cpuTotal[fn] += cpu[node];
        sums.bytesTotal[fn] += bytes[node];
      }
    });
    return (this.sums = sums);
  }

  /**
   * Visits all paths of functions, and says of each whether its function is nowhere above it.
   * @param {(node: number, isOutermost: boolean) => void} visit
   */
  walk(visit) {
    const open = new Int32Array(FUNCTIONS.count);
    /** @type {number[]} */ const path = [];
    for (let node = 0; node < this.size; node++) {
      while (path.length && this.end[path[path.length - 1]] <= node)
        open[this.fn[/** @type {number} */ (path.pop())]]--;
      if (FUNCTIONS.isOther(this.fn[node])) continue;
      visit(node, open[this.fn[node]]++ === 0);
      path.push(node);
    }
  }

  /**
   * Who calls a function, and whom it calls: calls, and time with callees, each time once.
   * @param {number} fn @param {Metric} metric
   */
  neighbours(fn, metric) {
    const [total, calls] = [this.total(metric), this.own.calls];
    const base = COMPARED ? this.total(metric, true) : null;
    const { errors } = this;
    /** @type {Map<number, {fn: number, calls: number, counted: number, value: number, error: number, base: number}>[]} */
    const [callers, callees] = [new Map(), new Map()];
    const add = (map, key, isOutermost, of) => {
      const row = map.get(key) ?? { fn: key, calls: 0, counted: 0, value: 0, error: 0, base: 0 };
      row.calls += calls[of];
      row.counted += this.own.counted[of];
      if (isOutermost) row.value += total[of];
      if (isOutermost) row.error += errors[of];
      if (isOutermost && base) row.base += base[of];
      map.set(key, row);
    };
    // Of a call that is made again below itself, the time is the outermost's.
    const until = [new Map(), new Map()];
    const meet = (side, map, key, node) => {
      const isOutermost = node >= (until[side].get(key) ?? 0);
      if (isOutermost) until[side].set(key, this.end[node]);
      add(map, key, isOutermost, node);
    };
    for (let node = 1; node < this.size; node++) {
      const caller = this.fn[this.parent[node]];
      if (this.fn[node] === fn) meet(0, callers, caller, node);
      if (caller === fn) meet(1, callees, this.fn[node], node);
    }
    const rows = (map) =>
      [...map.values()].sort((one, other) => other.value - one.value || other.calls - one.calls || one.fn - other.fn);
    return { callers: rows(callers), callees: rows(callees) };
  }

  /** The functions on the way to a path, from the root on. @param {number} node */
  path(node) {
    const path = [];
    for (; node > 0; node = this.parent[node]) path.push(this.fn[node]);
    return path.reverse();
  }

  /** The path by these functions, as far as there is one. @param {number[]} path */
  find(path) {
    let node = 0;
    for (const fn of path) {
      let child = node + 1;
      while (child < this.end[node] && this.fn[child] !== fn) child = this.end[child];
      if (child >= this.end[node]) break;
      node = child;
    }
    return node;
  }
}

/** The children of each node, by the order given. @param {Int32Array} parent @param {ArrayLike<number>} [order] */
function childrenOf(parent, order) {
  const start = new Int32Array(parent.length + 2);
  for (let node = 1; node < parent.length; node++) start[parent[node] + 2]++;
  for (let node = 2; node < start.length; node++) start[node] += start[node - 1];
  const list = new Int32Array(Math.max(0, parent.length - 1));
  for (let at = 0; at < parent.length; at++) {
    const node = order ? order[at] : at;
    if (node > 0) list[start[parent[node] + 1]++] = node;
  }
  return { start, list };
}
