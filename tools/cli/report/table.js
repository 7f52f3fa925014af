/**
 * A table of many rows, of which it shows the first: sorted by the button of a heading, filtered by words. `what` is
 * what one row is called and what many are; `search` gives the text that the filter looks into.
 *
 * A column is `{title, kind, of, text, below, isCode, bar, hue, isMinor}`: `kind` says how its cells are laid out,
 * 'figure' (unless it says so), 'name', 'word' or 'text'; `of` gives a row's value, null where it is not known; `text`
 * what stands for a figure; `bar` the value of a whole bar, or true for the greatest in the column; `below` a name's
 * second line. What is minor is left out on narrow screens.
 */
class DataTable {
  constructor({ what, columns, rows, search, shown = 15 }) {
    Object.assign(this, { what, columns, rows, search, shown });
    this.kept = rows;
    this.searched = new Map();
    this.most = new Map(columns.filter(column => column.bar)
      .map(column => [column, column.bar === true ? greatest(rows, row => column.of(row) ?? 0) : column.bar]));
    this.body = element('tbody');
    this.status = element('span', { class: 'status', role: 'status' });
    this.more = element('button', { class: 'plain', type: 'button', onclick: () => this.showMore() });
    this.filter = element('input', {
      type: 'search', placeholder: 'Filter by words', 'aria-label': `Filter ${what[1]}`, oninput: () => this.keep(),
    });
    this.headings = new Map(columns.map(column => [column, this.heading(column)]));
    this.hasFilter = rows.length > 5;
    this.host = element('div', { class: 'table' },
      element('div', { class: 'controls' }, ...(this.hasFilter ? [this.filter] : []), this.status),
      element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': what[1] },
        element('table', {}, element('thead', {}, element('tr', {}, ...this.headings.values())), this.body)),
      this.more);
    this.draw();
  }

  heading(column) {
    return element('th', { scope: 'col', class: this.classOf(column) },
      element('button', { type: 'button', onclick: () => this.sortBy(column) }, column.title));
  }

  classOf({ kind = 'figure', isMinor }) {
    return isMinor ? `${kind} minor` : kind;
  }

  /** Shows the rows in which each of these words is. */
  find(words) {
    if (!this.hasFilter) return;
    this.filter.value = words;
    this.keep();
  }

  keep() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(word => word !== '');
    this.kept = this.rows.filter(row => words.every(word => this.textOf(row).includes(word)));
    this.draw();
  }

  // Made when somebody first filters: a text for each of many rows takes time.
  textOf(row) {
    if (!this.searched.has(row)) this.searched.set(row, this.search(row).toLowerCase());
    return this.searched.get(row);
  }

  // Figures begin with the greatest, names with the first. What is not known comes last both ways.
  sortBy(column) {
    const heading = this.headings.get(column);
    const before = heading.getAttribute('aria-sort');
    const falls = before === null ? (column.kind ?? 'figure') === 'figure' : before === 'ascending';
    for (const each of this.headings.values()) each.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', falls ? 'descending' : 'ascending');
    const order = (a, b) => {
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      return (a < b ? -1 : Number(a > b)) * (falls ? -1 : 1);
    };
    this.rows = this.rows.map(row => ({ row, value: column.of(row) }))
      .sort((a, b) => order(a.value, b.value)).map(({ row }) => row);
    this.keep();
  }

  showMore() {
    this.shown += 100;
    this.draw();
  }

  cell(row, column) {
    const value = column.of(row);
    const attributes = { class: this.classOf(column) };
    if (value === null) return element('td', attributes, unknown);
    const text = column.text ? column.text(value) : String(value);
    if (column.kind === 'name') return element('td', attributes, ...this.lines(row, column, text));
    const most = this.most.get(column);
    return element('td', attributes, text, ...(most > 0 ? [bar(value / most, column.hue)] : []));
  }

  // Names may be cut off: the title has them whole.
  lines(row, { isCode, below }, text) {
    const lines = [element('span', { class: isCode ? 'line code' : 'line', title: text }, text)];
    if (below) lines.push(element('span', { class: 'line below', title: below(row) }, below(row)));
    return lines;
  }

  draw() {
    const rows = this.kept.slice(0, this.shown);
    this.body.replaceChildren(...rows.map(row =>
      element('tr', {}, ...this.columns.map(column => this.cell(row, column)))));
    if (rows.length === 0) {
      const text = this.rows.length === 0 ? 'None.' : 'None fits the filter.';
      this.body.append(element('tr', {}, element('td', { colspan: this.columns.length }, text)));
    }
    const all = counted(this.kept.length, ...this.what);
    this.status.textContent = rows.length < this.kept.length ? `${count(rows.length)} of ${all}` : all;
    this.more.hidden = rows.length === this.kept.length;
    this.more.textContent = `Show ${count(Math.min(100, this.kept.length - rows.length))} more`;
  }
}

const table = options => new DataTable(options).host;
