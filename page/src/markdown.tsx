// Markdown as elements of the page. Nothing is ever written as HTML: a text can only become the
// elements that are named here, so what a model or a tool writes cannot run.

import { Lexer, Marked } from "marked";
import type { Token, Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { straight } from "./hidden";
import { CodeBlock } from "./parts/CodeBlock";
import { Formula } from "./parts/Formula";

const LONGEST = 100_000; // characters; a longer text is shown as it is
const LONGEST_LINE = 6_000; // characters of a paragraph; reading takes their square
const PATIENCE = 200; // milliseconds, after which the rest is shown without emphasis and links
const DEEPEST = 24; // levels of lists and quotes

/** Where formulas begin and end: their underscores and stars are no emphasis. */
const MATH = [
  { open: "$$", close: "$$" },
  { open: "\\[", close: "\\]" },
  { open: "\\(", close: "\\)" },
];
const DOLLAR = /^\$(?! )([^$\n`]{1,500}?[^ $\n`]|[^ $\n`])\$(?![\d$])/; // no code within

const BLOCK = /^ {0,3}(?:\$\$(?=\s*\n)[^$]{1,4000}\$\$|\\\[[\s\S]{1,4000}?\\\])[ \t]*(?:\n+|$)/;

const reader = new Marked({
  gfm: true,
  extensions: [
    {
      name: "mathBlock",
      level: "block",
      start: (text: string) => {
        const at = text.search(/\n {0,3}(?:\$\$|\\\[)/);
        return at < 0 ? undefined : at + 1;
      },
      tokenizer: (text: string) => {
        const found = BLOCK.exec(text);
        return found ? { type: "mathBlock", raw: found[0] } : undefined;
      },
    },
    {
      name: "math",
      level: "inline",
      start: (text: string) => {
        const at = text.search(/\$|\\[([]/);
        return at < 0 ? undefined : at;
      },
      tokenizer: (text: string) => {
        for (const { open, close } of MATH) {
          if (!text.startsWith(open)) continue;
          const end = text.indexOf(close, open.length);
          if (end > open.length) return { type: "math", raw: text.slice(0, end + close.length) };
        }
        const found = DOLLAR.exec(text);
        return found ? { type: "math", raw: found[0] } : undefined;
      },
    },
  ],
});

export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => parsed(straight(text)), [text]);
  if (!tokens) return <p class="text">{straight(text)}</p>;
  return <div class="prose">{blocks(tokens, 0)}</div>;
}

export function parsed(text: string): Token[] | undefined {
  if (text.length > LONGEST || isTrap(text)) return undefined;
  const end = performance.now() + PATIENCE;
  const lexer = new Lexer(reader.defaults);
  try {
    lexer.blockTokens(text.replace(/\r\n?/g, "\n"), lexer.tokens);
    for (let at = 0; at < lexer.inlineQueue.length; at += 1) {
      const { src, tokens } = lexer.inlineQueue[at]!;
      const plain = src.length > LONGEST_LINE || performance.now() > end;
      if (plain) tokens.push({ type: "text", raw: src, text: src });
      else lexer.inlineTokens(src, tokens);
    }
    return lexer.tokens;
  } catch {
    return undefined; // what cannot be read is shown as it is
  }
}

/** Whether a text has more levels of quotes and lists than anybody writes. */
const isTrap = (text: string): boolean => /^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){32}/m.test(text);

/** Return the address of a link if it leads to a page or a mailbox. */
export function safeLink(href: string): string | undefined {
  if (/[\u0000-\u0020\u007f]/.test(href)) return undefined;
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined; // a relative address would lead into this page
  }
}

const blocks = (tokens: Token[] | undefined, depth: number): ComponentChildren =>
  (tokens ?? []).map((token, index) => <Block key={index} token={token} depth={depth} />);

const inline = (tokens: Token[] | undefined, depth: number): ComponentChildren =>
  (tokens ?? []).map((token, index) => <Inline key={index} token={token} depth={depth} />);

interface Props {
  token: Token;
  depth: number;
}

function Block({ token, depth }: Props) {
  if (depth > DEEPEST) return <p class="text">{token.raw}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return (
        <p class={`heading level-${token.depth}`} role="heading" aria-level={Math.min(6, token.depth + 1)}>
          {inline(token.tokens, depth + 1)}
        </p>
      );
    case "paragraph":
      return <p>{inline(token.tokens, depth + 1)}</p>;
    case "mathBlock":
      return (
        <p>
          <Formula raw={token.raw.trim()} />
        </p>
      );
    case "code":
      return <CodeBlock text={token.text} language={token.lang} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens, depth + 1)}</blockquote>;
    case "hr":
      return <hr />;
    case "list":
      return <List token={token as Tokens.List} depth={depth} />;
    case "table":
      return <Table token={token as Tokens.Table} depth={depth} />;
    case "text":
      return token.tokens ? <>{inline(token.tokens, depth + 1)}</> : <>{unescaped(token.text)}</>;
    default:
      return <p class="text">{token.raw}</p>; // HTML, as its text
  }
}

function List({ token, depth }: { token: Tokens.List; depth: number }) {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {item.task && <span aria-label={item.checked ? "done" : "to do"}>{item.checked ? "☑ " : "☐ "}</span>}
      {blocks(item.tokens.filter((one) => one.type !== "checkbox"), depth + 1)}
    </li>
  ));
  const start = typeof token.start === "number" && token.start !== 1 ? token.start : undefined;
  return token.ordered ? <ol start={start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ token, depth }: { token: Tokens.Table; depth: number }) {
  const side = (index: number) => {
    const align = token.align[index];
    return align ? `to-${align}` : undefined;
  };
  return (
    <div class="wide" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} class={side(index)}>
                {inline(cell.tokens, depth + 1)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} class={side(index)}>
                  {inline(cell.tokens, depth + 1)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Inline({ token, depth }: Props) {
  if (depth > DEEPEST) return <>{token.raw}</>;
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens, depth + 1)}</strong>;
    case "em":
      return <em>{inline(token.tokens, depth + 1)}</em>;
    case "del":
      return <del>{inline(token.tokens, depth + 1)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "math":
      return <Formula raw={token.raw} />;
    case "br":
      return <br />;
    case "link":
      return <Link token={token as Tokens.Link} depth={depth} />;
    case "image":
      return <Picture token={token as Tokens.Image} />;
    case "text":
      return token.tokens ? <>{inline(token.tokens, depth + 1)}</> : <>{unescaped(token.text)}</>;
    case "escape":
      return <>{token.text}</>;
    default:
      return <>{token.raw}</>; // HTML, as its text
  }
}

function Link({ token, depth }: { token: Tokens.Link; depth: number }) {
  const href = safeLink(token.href);
  if (href === undefined) return <>{token.raw}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {inline(token.tokens, depth + 1)}
    </a>
  );
}

/** The page loads nothing from other machines: a picture elsewhere is a link to it. */
function Picture({ token }: { token: Tokens.Image }) {
  if (/^data:image\/(png|jpeg|gif|webp);base64,[\w+/=-]+$/.test(token.href)) {
    return <img class="image" src={token.href} alt={token.text} />;
  }
  const href = safeLink(token.href);
  if (href === undefined) return <>{token.raw}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {token.text || "picture"} ↗
    </a>
  );
}

const NAMED: { [name: string]: string } = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", "#39": "'",
};

/** The characters that Markdown writes as entities; others stay as they are written. */
const unescaped = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|apos|nbsp|#39);/g, (whole, name) => NAMED[name] ?? whole);
