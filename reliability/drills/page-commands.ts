import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const MAIN = join(ROOT, 'service', 'main.ts')

/** A fenced `sh` block of a page: what an operator types is what a drill runs. */
export interface PageBlock {
  /** From the root of the repository. */
  page: string
  /** The start of the block, without comments. */
  begins: string
  /** What the page writes for something of the reader, and what the drill has there. */
  values: Record<string, string>
}

/** `npm run NAME -- ...` runs the program of this repository in the folder of the script. */
const SHELL_FUNCTIONS = `
set -euo pipefail
npm() {
  local name=$2; shift 2
  if [ "\${1:-}" = -- ]; then shift; fi
  '${process.execPath}' '${MAIN}' "$name" "$@"
}
`

/** The block as a script for bash that ends at the first command that fails. */
export function readPageScript({ page, begins, values }: PageBlock): string {
  const fences = readFileSync(join(ROOT, page), 'utf8').matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)
  const blocks = [...fences]
    .map(([, indent = '', body = '']) => body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .filter(script => script.replace(/^(#.*\n)+/, '').startsWith(begins))
  const [script] = blocks
  if (blocks.length !== 1 || script === undefined) {
    throw new Error(`${page} has ${blocks.length} blocks that begin with: ${begins}`)
  }
  const longestFirst = Object.entries(values).sort(([a], [b]) => b.length - a.length)
  const filled = longestFirst.reduce((filling, [placeholder, value]) => {
    if (!filling.includes(placeholder)) return filling
    return filling.replaceAll(placeholder, () => value)
  }, script)
  return `${SHELL_FUNCTIONS}${filled}`
}
