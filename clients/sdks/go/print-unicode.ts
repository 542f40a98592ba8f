import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const UNICODE_TABLES = join(import.meta.dirname, 'unicode_tables.txt')

/**
 * The tables for Unicode normalization, which Go's standard library does not have, from those of
 * this Node.js: full canonical decompositions (`=` where NFC composes again, `>` where it does
 * not), compatible ones (`~`), and combining marks by the rank of their class (`#`). Print them
 * again with `node clients/sdks/go/print-unicode.ts`.
 */
export function printUnicodeTables(): string {
  const canonical: [string, string][] = []
  const compatible: [string, string][] = []
  const marks: string[] = []
  for (const character of characters()) {
    if (/\p{M}/u.test(character)) marks.push(character)
    if (isSyllable(character)) continue
    const nfd = character.normalize('NFD')
    const nfkd = character.normalize('NFKD')
    if (nfd !== character) canonical.push([character, nfd])
    if (nfkd !== nfd) compatible.push([character, nfkd])
  }
  // A composition of three needs that of its first two.
  canonical.sort(([, one], [, other]) => [...one].length - [...other].length)
  const lines = [
    ...canonical.map(([character, nfd]) =>
      printLine(nfd.normalize('NFC') === character ? '=' : '>', [character, nfd]),
    ),
    ...compatible.map(pair => printLine('~', pair)),
    ...rankMarks(marks).map((equals, at) => printLine(`# ${at + 1}`, equals)),
  ]
  return `${lines.join('\n')}\n`
}

function* characters(): Generator<string> {
  for (let code = 0; code <= 0x10_ff_ff; code += 1) {
    const isSurrogate = code >= 0xd8_00 && code <= 0xdf_ff
    if (!isSurrogate) yield String.fromCodePoint(code)
  }
}

/** Those of Hangul are composed by arithmetic. */
function isSyllable(character: string): boolean {
  return character >= '\uac00' && character <= '\ud7a3'
}

function printLine(name: string, texts: readonly string[]): string {
  const codes = [...texts.join('')].map(one => (one.codePointAt(0) ?? 0).toString(16))
  return `${name} ${codes.join(' ')}`
}

/** Marks of one combining class, which normalization does not exchange, in the order of classes. */
function rankMarks(marks: readonly string[]): string[][] {
  const classes: string[][] = []
  for (const mark of marks.filter(isReordered)) {
    const at = classes.findIndex(([first = '']) => !isBefore(first, mark))
    const equal = classes[at]
    if (equal?.[0] && !isBefore(mark, equal[0])) equal.push(mark)
    else classes.splice(at === -1 ? classes.length : at, 0, [mark])
  }
  return classes
}

/** Whether a mark has a combining class: one below (220) or one above (230) would move. */
function isReordered(mark: string): boolean {
  return isBefore(mark, '\u0301') || isBefore('\u0301', mark) || isBefore('\u0323', mark)
}

/** Whether normalization exchanges two marks that stand the other way round. */
function isBefore(one: string, other: string): boolean {
  const text = other + one
  const parts = other.normalize('NFD') + one.normalize('NFD')
  return text.normalize('NFD') !== parts
}

if (import.meta.main) writeFileSync(UNICODE_TABLES, printUnicodeTables())
