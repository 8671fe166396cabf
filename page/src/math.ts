// TeX as MathML. This part is loaded with the first formula. The library's tree is read, never its
// markup, and only the names below are taken from it.

import Temml from "temml";

const LONGEST = 2_000; // characters of a formula
const MOST = 3_000; // elements of a formula

const ELEMENTS = new Set(
  ("math mrow mi mn mo mtext mspace ms mfrac msqrt mroot msub msup msubsup munder mover munderover " +
    "mmultiscripts mprescripts none mtable mtr mtd mpadded mphantom mstyle menclose").split(" "),
);
const ATTRIBUTES = new Set(
  ("accent accentunder columnalign columnspacing depth display displaystyle fence form height largeop " +
    "linethickness lspace mathvariant maxsize minsize movablelimits notation rowspacing rspace " +
    "scriptlevel separator stretchy symmetric voffset width").split(" "),
);
const VALUE = /^[\w .,%+-]{0,60}$/;
const CLASSES = new Set(["tml-left", "tml-right", "tml-overline", "tml-underline", "tml-cancel"]);

/** An element of a formula, or a text. */
export type MathNode = string | { name: string; attributes: { [name: string]: string }; children: MathNode[] };

/** A node of the library's tree: an element, a text, or a fragment. */
interface Node {
  type?: string;
  text?: unknown;
  attributes?: { [name: string]: unknown };
  classes?: string[];
  children?: Node[];
}

const known = new Map<string, MathNode | undefined>();

/** Read a formula; undefined if it is no TeX that can be shown. */
export function readMath(tex: string, display: boolean): MathNode | undefined {
  if (tex.length > LONGEST) return undefined;
  const key = `${display} ${tex}`;
  if (!known.has(key)) {
    if (known.size > 500) known.clear();
    known.set(key, convert(tex, display));
  }
  return known.get(key);
}

function convert(tex: string, display: boolean): MathNode | undefined {
  try {
    const root = Temml.__renderToMathMLTree(tex, {
      displayMode: display,
      throwOnError: true,
      trust: false,
      strict: false,
      macros: {}, // one formula defines nothing for another
      maxExpand: 200,
      maxSize: [10, 10],
    }) as Node;
    let left = MOST;
    const take = (node: Node): MathNode[] => {
      if (typeof node.text === "string") return [node.text];
      const children = (node.children ?? []).flatMap(take);
      if (node.type === undefined && !node.attributes) return children; // a fragment
      left -= 1;
      if (left < 0 || !node.type || !ELEMENTS.has(node.type)) throw new Error("A formula has other elements.");
      return [{ name: node.type, attributes: attributesOf(node), children }];
    };
    const [found] = take(root);
    return typeof found === "object" && found.name === "math" ? found : undefined;
  } catch {
    return undefined; // it is shown as it was written
  }
}

function attributesOf(node: Node): { [name: string]: string } {
  const found: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    if (ATTRIBUTES.has(name) && VALUE.test(String(value))) found[name] = String(value);
  }
  const classes = (node.classes ?? []).filter((one) => CLASSES.has(one));
  if (classes.length) found["class"] = classes.join(" ");
  return found;
}
