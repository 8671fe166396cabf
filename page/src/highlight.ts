// Colours of code. This part is loaded with the first block that names a language.

import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  bash, css, diff, go, java, javascript, json, markdown, python, rust, sql, typescript, xml, yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) core.registerLanguage(name, language);

const LONGEST = 50_000; // characters that are coloured

/** A stretch of code and what it is, such as `keyword`. */
export interface Stretch {
  text: string;
  scope: string;
}

/** Split code by what its stretches are; undefined for a language that is not known. */
export function stretches(text: string, language: string): Stretch[] | undefined {
  if (!core.getLanguage(language) || text.length > LONGEST) return undefined;
  const found: Stretch[] = [];
  // The library writes HTML; a template reads it without running or loading anything, and only its
  // texts and class names are taken.
  const template = document.createElement("template");
  template.innerHTML = core.highlight(text, { language, ignoreIllegals: true }).value;
  const take = (node: Node, scope: string): void => {
    for (const one of node.childNodes) {
      if (one instanceof Element) take(one, kindOf(one));
      else found.push({ text: one.textContent ?? "", scope });
    }
  };
  take(template.content, "");
  return found.map((one) => one.text).join("") === text ? found : undefined;
}

const kindOf = (element: Element): string => /hljs-([a-z_]+)/.exec(element.className)?.[1] ?? "";
