import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Variable } from './variable.ts'
import { VARIABLES } from './variables.ts'

/** The page that is printed; a test keeps it fresh. */
export const SETTINGS_PAGE_PATH = join(import.meta.dirname, '../../docs/operations/settings.md')

/** `docs/operations/settings.md`, from the table that the service itself reads by. */
export function renderSettingsPage(): string {
  const rows = Object.entries(VARIABLES).map(([name, variable]) => renderCells(name, variable))
  return `${HEAD}\n${renderTable([COLUMNS, ...rows])}\n`
}

const HEAD = `# Settings

<!-- Printed by \`node service/settings/print-settings.ts\` from service/settings/variables.ts. -->

Every setting is an environment variable, read once at the start. A value that does not fit stops
the start with one sentence that names the variable. An empty value counts as unset. A variable
that begins with \`SIGNALBOX_\` and is not in this table is reported in the log and has no effect.

The value of a secret is never printed. A secret may also come from a file: \`NAME_FILE\` holds the
path, for example \`DATABASE_URL_FILE=/run/secrets/database-url\`.
`

const COLUMNS = ['Name', 'Default', 'Type and range', 'Secret', 'Meaning']

function renderCells(name: string, variable: Variable): string[] {
  return [
    `\`${name}\``,
    variable.default === undefined ? 'unset' : `\`${variable.default}\``,
    describeRange(variable),
    variable.secret ? 'yes' : '',
    variable.meaning,
  ].map(cell => cell.replaceAll('|', '\\|'))
}

function describeRange({ kind, minimum = 0, maximum, choices, patternMeaning }: Variable): string {
  switch (kind) {
    case 'integer':
      return maximum === undefined ? `integer from ${minimum}` : `integer, ${minimum} to ${maximum}`
    case 'choice':
      return (choices ?? []).map(choice => `\`${choice}\``).join(', ')
    case 'url':
      return 'absolute URL'
    case 'pattern':
      return `text; must ${patternMeaning ?? 'match its pattern'}`
    case 'networks':
      return 'IP addresses and CIDR ranges with commas between them'
    case 'text':
      return 'text'
  }
}

/** Columns are padded as the formatter of the repository pads them. */
function renderTable([head = [], ...rows]: string[][]): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map(cells => cells[column]?.length ?? 0)),
  )
  const rule = widths.map(width => '-'.repeat(width))
  return [head, rule, ...rows]
    .map(
      cells => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
    )
    .join('\n')
}

if (import.meta.main) {
  mkdirSync(dirname(SETTINGS_PAGE_PATH), { recursive: true })
  writeFileSync(SETTINGS_PAGE_PATH, renderSettingsPage())
}
