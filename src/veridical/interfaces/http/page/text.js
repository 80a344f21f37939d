// A text with offsets in code points, as reports count; a browser counts UTF-16 units.

const STEERING =
  // eslint-disable-next-line no-control-regex -- these are what it is about
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|\r(?!\n)|\p{Cs}/gu;

/** Make characters that steer a browser visible, each by one of the same length. */
export function visible(text) {
  return text.replace(STEERING, (found) => {
    const code = found.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : "\ufffd";
  });
}

export const oneLine = (text) => squeezed(visible(text)).trim();

/** Put one space for every stretch of white space. */
export const squeezed = (text) => text.replace(/\s+/gu, " ");

export class Text {
  constructor(raw) {
    this._raw = raw;
    this.units = visible(raw);
    this._places = /[\ud800-\udbff]/.test(raw) ? places(raw) : null;
    this._lines = null;
  }

  /** The number of code points. */
  get length() {
    return this._places ? this._places.length - 1 : this.units.length;
  }

  /** Return the UTF-16 offset of a code point offset; one past the end is the end. */
  unit(point) {
    const at = Math.min(Math.max(point, 0), this.length);
    return this._places ? this._places[at] : at;
  }

  slice(start, end) {
    return this.units.slice(this.unit(start), this.unit(end));
  }

  /** The same of the text as it came, steering characters and all. */
  raw(start, end) {
    return this._raw.slice(this.unit(start), this.unit(end));
  }

  /** Return line and column of a code point offset, both counted from 1. */
  place(point) {
    this._lines ??= lineStarts(this.units);
    const unit = this.unit(point);
    let [low, high] = [0, this._lines.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this._lines[middle] <= unit) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: [...this.units.slice(this._lines[low], unit)].length + 1 };
  }
}

function places(text) {
  const found = new Uint32Array(text.length + 1);
  let points = 0;
  for (let unit = 0; unit < text.length; points += 1) {
    found[points] = unit;
    unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
  }
  found[points] = text.length;
  return found.subarray(0, points + 1);
}

function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
