import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

interface Rule {
  name: string
  /** What a statement, or the code around it, does not contain. */
  fault: RegExp
  /** Why it is not portable from PostgreSQL to Citus. */
  reason: string
}

const RULES: Rule[] = [
  {
    name: 'row count',
    fault: /\browCount\b|\bnum(Inserted|Updated|Deleted|Changed|Affected)\w*Rows\b/,
    reason: 'Citus counts rows that `on conflict do nothing` left out: use `returning`.',
  },
  {
    name: 'constraint name',
    fault: /\bconstraint\s*[!=]==|\bconstraint:\s*['"`]|\bon conflict on constraint\b|_pkey['"`]/,
    reason: 'On Citus names of constraints end with the number of a shard.',
  },
  {
    name: 'empty select list',
    fault: /\bselect\s+from\b/i,
    reason: 'Citus refuses it: `select 1 from`.',
  },
  {
    name: 'locks of one node',
    fault: /\bpg_locks\b/,
    reason: 'The coordinator does not see the locks of other nodes.',
  },
  {
    name: 'size of one node',
    fault: /\bpg_(total_)?relation_size\b|\bpg_(table|indexes)_size\b|\brel(pages|tuples)\b/,
    reason: 'The tables of the coordinator are empty.',
  },
  {
    name: 'forced plan',
    fault: /\bforce_generic_plan\b/,
    reason: 'Citus refuses generic plans of some statements.',
  },
  {
    name: 'setting of one node',
    fault: /\bset_config\(|\bset local (?!citus\.|statement_timeout)|\bset session\b/i,
    reason: 'Rows are locked and read on nodes that do not know it: `setLocally`.',
  },
  {
    name: 'parameter without a type',
    fault: /(?<!['"])\$\d+(?!\d|::)/,
    reason: 'Citus takes statements apart, and the parts do not show the type: `$1::uuid`.',
  },
  {
    name: 'parameter in `do update`',
    fault: /\bdoUpdateSet\((?!\(\{ ref \}\) =>)/,
    reason: 'The values are in `excluded`; a parameter there has no type (`keepReport`).',
  },
]

/** A file that no longer needs its place here leaves it. */
const EXCEPTIONS: Record<string, { reason: string; files: string[] }> = {
  'locks of one node': {
    reason: 'It is asked on every node that stores payloads.',
    files: ['signals/events/suppression-store.ts'],
  },
  'setting of one node': {
    reason: 'One tells all nodes, and the other is about tables before they are distributed.',
    files: ['signals/events/ledger-upgrade/upgrade-store.ts', 'runtime/db/sql-fragments.ts'],
  },
}

const root = import.meta.dirname
const sources = globSync('{**/*store.ts,runtime/db/**/*.ts}', {
  cwd: root,
  exclude: path => path.includes('node_modules') || path.endsWith('.test.ts'),
}).map(path => ({ path, code: codeOf(readFileSync(join(root, path), 'utf8')) }))

it('the rules are about the files that have SQL', () => {
  assert.ok(sources.length > 60)
  assert.deepEqual(
    Object.keys(EXCEPTIONS).filter(name => !RULES.some(rule => rule.name === name)),
    [],
  )
})

for (const { name, fault, reason } of RULES) {
  it(`statements run on Citus too: no ${name}`, () => {
    const faulty = sources.filter(({ code }) => fault.test(code)).map(({ path }) => path)
    const excepted = EXCEPTIONS[name]?.files ?? []
    assert.deepEqual(faulty.sort(), [...excepted].sort(), reason)
  })
}

it('each rule finds the fault that it is about', () => {
  const faulty = [
    'const { rowCount } = await pool.query(text)',
    "if (error.constraint === 'events_pkey') return",
    'where exists (select\n  from events)',
    'select pid from pg_locks',
    "select pg_relation_size('sessions')",
    'set plan_cache_mode = force_generic_plan',
    'set local lock_timeout = 500',
    'values ($1::uuid, $12)',
    'conflict.doUpdateSet({ used_at: at })',
  ]
  assert.deepEqual(
    faulty.map(code => RULES.filter(({ fault }) => fault.test(code)).map(({ name }) => name)),
    RULES.map(({ name }) => [name]),
  )
  const fine = 'on conflict (id) do update set a = excluded.a where id = $12::integer returning id'
  assert.deepEqual(
    RULES.filter(({ fault }) => fault.test(fine)),
    [],
  )
})

/** Comments may speak of what statements may not do. */
function codeOf(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}
