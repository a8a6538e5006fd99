//! The list of turns that one can type: role, text, remove.
import { el } from './dom.js';
import { ROLES } from './conversation.js';

/** A list of turns inside `list`; `changed` is called after every change by the user. */
export class Editor {
  #list;
  #changed;

  constructor(list, changed) {
    this.#list = list;
    this.#changed = changed;
  }

  /** What was typed. */
  get turns() {
    return [...this.#list.children].map((row) => ({
      role: row.querySelector('select').value,
      text: row.querySelector('textarea').value,
    }));
  }

  set turns(turns) {
    this.#list.replaceChildren(...turns.map((turn) => this.#row(turn)));
    this.#number();
  }

  /** Adds an empty turn and puts the cursor into it. */
  add() {
    const row = this.#row({ role: 'user', text: '' });
    this.#list.append(row);
    this.#number();
    row.querySelector('textarea').focus();
    this.#changed();
  }

  #row({ role, text }) {
    const select = el('select', { onchange: () => this.#changed() },
      ...ROLES.map((name) => el('option', { value: name, selected: name === role }, name)));
    const area = el('textarea', { value: text, rows: 2, oninput: () => this.#changed() });
    const remove = el('button', { type: 'button', className: 'remove', onclick: () => this.#remove(row) }, 'Remove');
    const row = el('li', {}, el('div', { className: 'turn-head' }, el('span', { className: 'number' }), select, remove), area);
    return row;
  }

  #remove(row) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    this.#number();
    next?.querySelector('.remove').focus();
    this.#changed();
  }

  /** Numbers are the message indexes that a report names. */
  #number() {
    [...this.#list.children].forEach((row, index) => {
      row.querySelector('.number').textContent = index;
      row.querySelector('select').setAttribute('aria-label', `Role of message ${index}`);
      row.querySelector('textarea').setAttribute('aria-label', `Text of message ${index}`);
      row.querySelector('.remove').setAttribute('aria-label', `Remove message ${index}`);
    });
  }
}
