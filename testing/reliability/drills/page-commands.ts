import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findShellBlock } from '../../fixtures/page-blocks.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** A fenced `sh` block of a page: what an operator types is what a drill runs. */
export interface PageBlock {
  /** From the root of the repository. */
  page: string
  /** The start of the block, without comments. */
  begins: string
  /** What the page writes for something of the reader, and what the drill has there. */
  values: Record<string, string>
}

/**
 * `npm run NAME -- ...` runs the script of package.json, and `npx signalbox-server` the program of
 * the service, but in the folder of the shell.
 */
function writeShellFunctions(): string {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const cases = Object.entries<string>(scripts)
    .map(([name, script]) => ({ name, words: script.split(' ') }))
    .filter(({ words }) => words[0] === 'node' && words.length <= 3)
    .map(({ name, words: [, path = '', ...rest] }) => {
      return `${name}) '${process.execPath}' '${join(ROOT, path)}' ${rest.join(' ')} "$@" ;;`
    })
  return `set -euo pipefail
npm() {
  local name=$2; shift 2
  if [ "\${1:-}" = -- ]; then shift; fi
  case "$name" in
    ${cases.join('\n    ')}
    *) echo "unknown: $name" >&2; return 1 ;;
  esac
}
npx() {
  shift
  '${process.execPath}' '${join(ROOT, 'service/main.ts')}' "$@"
}
`
}

/** The block as a script for bash that ends at the first command that fails. */
export function readPageScript({ page, begins, values }: PageBlock): string {
  const script = findShellBlock(page, begins)
  const longestFirst = Object.entries(values).sort(([a], [b]) => b.length - a.length)
  const filled = longestFirst.reduce(
    (filling, [placeholder, value]) => filling.replaceAll(placeholder, () => value),
    script,
  )
  return `${writeShellFunctions()}${filled}`
}
