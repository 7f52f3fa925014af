/**
 * Places items, the greatest first, in a box, each by its value's share of the room. Squarified, after Bruls, Huizing
 * and van Wijk: items share a strip along the shorter side for as long as that makes them squarer.
 */
function squarify(items, { x, y, width, height }) {
  const scale = width * height / sum(items, item => item.value);
  const placed = [];
  for (let first = 0; first < items.length;) {
    const side = Math.min(width, height);
    const area = at => items[at].value * scale;
    const worst = (strip, last) => Math.max(side * side * area(first) / (strip * strip),
      strip * strip / (side * side * area(last)));
    let strip = area(first);
    let end = first + 1;
    while (end < items.length && worst(strip + area(end), end) <= worst(strip, end - 1)) strip += area(end++);
    const thickness = strip / side;
    const upright = width >= height;
    for (let along = 0; first < end; ++first) {
      const length = area(first) / thickness;
      placed.push(upright ? { item: items[first], x, y: y + along, width: thickness, height: length }
        : { item: items[first], x: x + along, y, width: length, height: thickness });
      along += length;
    }
    if (upright) { x += thickness; width -= thickness; } else { y += thickness; height -= thickness; }
  }
  return placed;
}

/** Groups of rows by a name, `{name, rows, value}`, the largest first. */
function nodesOf(rows, keyOf) {
  return [...grouped(rows, keyOf)]
    .map(([name, of]) => ({ name, rows: of, value: sum(of, row => row.bytes) }))
    .filter(node => node.value > 0)
    .sort((a, b) => b.value - a.value);
}

/** The same, but those that would take less than `least` pixels are one node together. */
function visible(nodes, room, least) {
  const scale = room / sum(nodes, node => node.value);
  const seen = nodes.filter(node => node.value * scale >= least);
  const rest = nodes.slice(seen.length);
  if (rest.length === 0) return nodes;
  const others = {
    name: counted(rest.length, 'small one', 'small ones'),
    rows: rest.flatMap(node => node.rows),
    value: sum(rest, node => node.value),
    isOthers: true,
  };
  return [...seen, others].sort((a, b) => b.value - a.value);
}

/**
 * The sizes of entries: first by program and in it by architecture, or the other way round. The colour is that of the
 * architecture. A click calls `found` with the names of what was clicked.
 */
class Treemap {
  constructor(entries, found) {
    this.entries = entries;
    this.found = found;
    this.outer = 'program';
    this.archs = nodesOf(entries, entry => entry.arch).slice(0, 8);
    this.hues = new Map(this.archs.map(({ name }, at) => [name, `hue${at}`]));
    this.drawn = new Map();
    this.tip = document.getElementById('tip');
    this.map = element('div', { class: 'treemap', role: 'img' });
    this.map.addEventListener('click', event => this.click(event));
    this.map.addEventListener('pointermove', event => this.point(event));
    this.map.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    this.host = element('div', {},
      element('fieldset', { class: 'choice', 'aria-label': 'What the map is divided by first' },
        this.choice('program', 'by program'), this.choice('arch', 'by architecture')),
      this.map, this.legend());
    new ResizeObserver(() => { if (this.map.clientWidth !== this.width) this.draw(); }).observe(this.map);
  }

  choice(value, text) {
    const onchange = () => {
      this.outer = value;
      this.draw();
    };
    return element('label', {},
      element('input', { type: 'radio', name: 'outer', value, checked: value === this.outer, onchange }), text);
  }

  legend() {
    return element('ul', { class: 'legend' }, ...this.archs.map(({ name, value }) =>
      element('li', {}, element('i', { class: this.hueOf(name) }), `${name}: ${bytes(value)}`)));
  }

  hueOf(arch) {
    return this.hues.get(arch) ?? 'other';
  }

  draw() {
    this.width = this.map.clientWidth;
    const height = Math.round(Math.min(460, Math.max(280, 0.42 * this.width)));
    styled(this.map, { height: `${height}px` });
    this.drawn.clear();
    this.map.replaceChildren();
    const groups = visible(nodesOf(this.entries, entry => entry[this.outer]), this.width * height, 250);
    this.map.setAttribute('aria-label', `Sizes by ${this.outer === 'arch' ? 'architecture' : 'program'}: ` +
      groups.slice(0, 5).map(group => `${group.name} ${bytes(group.value)}`).join(', '));
    for (const placed of squarify(groups, { x: 0, y: 0, width: this.width, height })) this.drawGroup(placed);
  }

  drawGroup(placed) {
    const { item: group, width, height } = placed;
    const made = this.box('group', placed, [group]);
    this.map.append(made);
    const hue = this.outer === 'arch' && !group.isOthers ? this.hueOf(group.name) : 'other';
    const head = width >= 44 && height >= 52 ? 20 : 0;
    if (head > 0) made.append(element('span', { class: 'head' }, group.name));
    const inner = this.outer === 'arch' ? 'program' : 'arch';
    // Borders take two pixels.
    const room = { x: 0, y: head, width: Math.max(1, width - 2), height: Math.max(1, height - head - 2) };
    const cells = visible(nodesOf(group.rows, entry => entry[inner]), room.width * room.height, 40);
    for (const cell of squarify(cells, room)) {
      const drawn = this.box('cell', cell, [group, cell.item]);
      drawn.classList.add(cell.item.isOthers || inner === 'program' ? hue : this.hueOf(cell.item.name));
      drawn.append(...this.lines(cell));
      made.append(drawn);
    }
  }

  /** `nodes`: what it stands for, and before that the group that it is in. */
  box(kind, { x, y, width, height }, nodes) {
    const made = styled(element('div', { class: kind, 'aria-hidden': 'true' }),
      { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
    this.drawn.set(made, nodes);
    return made;
  }

  /** As much of its text as fits. */
  lines({ item: { name, value }, width, height }) {
    const fitting = width >= 40 ? Math.max(0, Math.floor((height - 8) / 15)) : 0;
    return [name, bytes(value)].slice(0, fitting).map(line => element('span', {}, line));
  }

  nodesAt(event) {
    return this.drawn.get(event.target.closest('.cell, .group')) ?? [];
  }

  click(event) {
    const names = this.nodesAt(event).filter(node => !node.isOthers).map(node => node.name);
    if (names.length > 0) this.found(names.join(' '));
  }

  point(event) {
    const nodes = this.nodesAt(event);
    this.tip.hidden = nodes.length === 0;
    if (this.tip.hidden) return;
    const node = nodes[nodes.length - 1];
    this.tip.textContent = `${nodes.map(each => each.name).join(', ')}\n` +
      `${bytes(node.value)}, ${counted(node.rows.length, 'entry', 'entries')}`;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const above = event.clientY + 18 + height > innerHeight;
    styled(this.tip, {
      left: `${Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8))}px`,
      top: `${above ? event.clientY - height - 12 : event.clientY + 18}px`,
    });
  }
}
