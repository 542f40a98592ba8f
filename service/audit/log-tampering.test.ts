import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type pg from 'pg'
import {
  type AuditUnderTest,
  auditUnderTest,
  forgedBody,
  forgedEntry,
} from '../../testing/audit-under-test.ts'
import { hashBody } from './audit-entry.ts'
import { findHead, readEntries, type StoredEntry } from './audit-read-store.ts'

const ENTRIES = 9

interface Spoiling {
  client: pg.PoolClient
  entries: readonly StoredEntry[]
  /** The entry of this sequence. */
  at(sequence: number): StoredEntry
}

/** Nine entries, what the owner of the database then does to them, and what is found. */
async function found(
  test: TestContext,
  spoil: (spoiling: Spoiling) => Promise<unknown>,
): Promise<{ at: number | null; finding: string }> {
  const under = await auditUnderTest(test)
  await under.write(ENTRIES)
  assert.ok((await under.verify()).is_intact)
  await spoilLog(under, spoil)
  const { broken_at, finding, is_intact } = await under.verify()
  assert.equal(is_intact, broken_at === null)
  return { at: broken_at, finding }
}

async function spoilLog(
  { database, workspaceId, asOwner }: AuditUnderTest,
  spoil: (spoiling: Spoiling) => Promise<unknown>,
): Promise<void> {
  const entries = await readEntries(database, { workspaceId, limit: 100 })
  const at = (sequence: number) => entries[sequence - 1] as StoredEntry
  await asOwner(client => spoil({ client, entries, at }))
}

const setBody = ({ client }: Spoiling, sequence: number, row: { body: string; hash: Buffer }) =>
  client.query('update audit_entries set body = $2, hash = $3 where sequence = $1', [
    sequence,
    row.body,
    row.hash,
  ])

const remove = ({ client }: Spoiling, where: string) =>
  client.query(`delete from audit_entries where ${where}`)

const insert = ({ client }: Spoiling, row: { sequence: number; body: string; hash: Buffer }) =>
  client.query(
    `insert into audit_entries (workspace_id, sequence, body, hash)
     select workspace_id, $1, $2, $3 from audit_heads`,
    [row.sequence, row.body, row.hash],
  )

it('a body that was changed', async test => {
  assert.deepEqual(
    await found(test, spoiling => {
      const { body, hash } = spoiling.at(4)
      return setBody(spoiling, 4, { body: body.replace('"count":4', '"count":5'), hash })
    }),
    { at: 4, finding: 'Entry 4 is not the text that its digest is of.' },
  )
})

it('a body that was changed together with its digest', async test => {
  for (const sequence of [1, 4, 8]) {
    assert.deepEqual(
      await found(test, spoiling =>
        setBody(
          spoiling,
          sequence,
          forgedBody(spoiling.at(sequence).body, { details: { count: 100 } }),
        ),
      ),
      {
        at: sequence,
        finding: `Entry ${sequence} is not the one that entry ${sequence + 1} was written after.`,
      },
    )
  }
})

it('the last body, changed together with its digest', async test => {
  assert.deepEqual(
    await found(test, spoiling =>
      setBody(spoiling, 9, forgedBody(spoiling.at(9).body, { details: {} })),
    ),
    { at: 9, finding: 'Entry 9 is not the one of the signed head.' },
  )
})

it('an entry that was made to follow another one, with its digest', async test => {
  for (const sequence of [2, 5, 9]) {
    const { at } = await found(test, spoiling =>
      setBody(
        spoiling,
        sequence,
        forgedBody(spoiling.at(sequence).body, { previous_hash: 'a'.repeat(64) }),
      ),
    )
    assert.equal(at, sequence)
  }
})

it('a text that says the same and is not the canonical one', async test => {
  assert.deepEqual(
    await found(test, spoiling => {
      const { body } = forgedBody(spoiling.at(5).body, {})
      return setBody(spoiling, 5, { body: body.replace('{', '{ '), hash: spoiling.at(5).hash })
    }),
    { at: 5, finding: 'Entry 5 is not the text that its digest is of.' },
  )
  assert.deepEqual(
    await found(test, spoiling => {
      const spaced = spoiling.at(9).body.replace('{', '{ ')
      return setBody(spoiling, 9, forgedText(spaced))
    }),
    { at: 9, finding: 'Entry 9 is not written as the log writes it.' },
  )
})

it('columns beside the body that say something else', async test => {
  assert.deepEqual(
    await found(test, async ({ client }) => {
      await client.query('alter table audit_entries alter column action drop expression')
      await client.query(`update audit_entries set action = 'key.revoked' where sequence = 3`)
    }),
    { at: 3, finding: 'The columns beside entry 3 do not say what it says.' },
  )
})

it('an entry deleted in the middle, at the beginning and at the end', async test => {
  assert.deepEqual(await found(test, spoiling => remove(spoiling, 'sequence = 5')), {
    at: 5,
    finding: 'Entry 5 is missing.',
  })
  assert.deepEqual(await found(test, spoiling => remove(spoiling, 'sequence = 1')), {
    at: 1,
    finding: 'Entry 1 is missing.',
  })
  assert.deepEqual(await found(test, spoiling => remove(spoiling, 'sequence > 6')), {
    at: 7,
    finding: 'Entry 7 is missing: the signed head reaches to entry 9.',
  })
})

it('two entries that were put in each other’s place', async test => {
  assert.deepEqual(
    await found(test, async spoiling => {
      await setBody(spoiling, 3, spoiling.at(6))
      await setBody(spoiling, 6, spoiling.at(3))
    }),
    { at: 3, finding: 'Entry 3 says of itself that it is another entry.' },
  )
})

it('two entries whose numbers were exchanged, and neighbours', async test => {
  for (const [one, other] of [
    [2, 7],
    [4, 5],
    [8, 9],
    [1, 2],
  ] as const) {
    const { at } = await found(test, async ({ client }) => {
      const move = 'update audit_entries set sequence = $2 where sequence = $1'
      await client.query(move, [one, 100])
      await client.query(move, [other, one])
      await client.query(move, [100, other])
    })
    assert.equal(at, one)
  }
})

it('all entries gone', async test => {
  assert.deepEqual(await found(test, ({ client }) => client.query('truncate audit_entries')), {
    at: 1,
    finding: 'Entry 1 is missing: the signed head reaches to entry 9.',
  })
})

it('a cut tail under a head that was rewritten without the key', async test => {
  assert.deepEqual(
    await found(test, async spoiling => {
      await remove(spoiling, 'sequence > 6')
      const { hash } = spoiling.at(6)
      await spoiling.client.query('update audit_heads set sequence = 6, hash = $1', [hash])
    }),
    {
      at: 6,
      finding:
        'The head of the log is not signed by a key of this installation. ' +
        'Nothing vouches for entry 6.',
    },
  )
})

it('a log that was written anew from some entry on, under a head without a signature', async test => {
  const { at } = await found(test, async spoiling => {
    let previous = { sequence: 5, hash: spoiling.at(5).hash }
    const [{ workspace_id }] = (await spoiling.client.query('select workspace_id from audit_heads'))
      .rows
    for (let sequence = 6; sequence <= ENTRIES; sequence += 1) {
      const entry = forgedEntry(workspace_id, previous)
      const forged = forgedBody(entry.body, { details: { count: 0 } })
      await setBody(spoiling, sequence, forged)
      previous = { sequence, hash: forged.hash }
    }
    await spoiling.client.query('update audit_heads set hash = $1', [previous.hash])
  })
  assert.equal(at, 9)
})

it('a head that is gone', async test => {
  assert.deepEqual(await found(test, ({ client }) => client.query('delete from audit_heads')), {
    at: 9,
    finding: 'The signed head of the log is missing. Nothing vouches for entry 9.',
  })
})

it('an entry appended by a forger, with and without a head of it', async test => {
  const append = (spoiling: Spoiling) => {
    const { workspace_id } = JSON.parse(spoiling.at(9).body)
    const forged = forgedEntry(workspace_id, { sequence: 9, hash: spoiling.at(9).hash })
    return insert(spoiling, forged).then(() => forged)
  }
  assert.deepEqual(await found(test, append), {
    at: 10,
    finding: 'Entry 10 stands behind the signed head.',
  })
  const { at } = await found(test, async spoiling => {
    const { hash } = await append(spoiling)
    await spoiling.client.query('update audit_heads set sequence = 10, hash = $1', [hash])
  })
  assert.equal(at, 10)
})

it('entries with numbers that there are not', async test => {
  const strange = async (sequence: string) =>
    found(test, async spoiling => {
      const { client } = spoiling
      await client.query('alter table audit_entries drop constraint audit_entries_sequence_check')
      await client.query(`update audit_entries set sequence = ${sequence} where sequence = 9`)
    })
  assert.deepEqual(await strange('0'), {
    at: 1,
    finding: 'Entry 0 does not belong into the log.',
  })
  assert.deepEqual(await strange('9223372036854775807'), { at: 9, finding: 'Entry 9 is missing.' })
})

it('the log of another workspace in the place of this one', async test => {
  const under = await auditUnderTest(test)
  const other = await under.newWorkspace()
  await under.write(3)
  await under.write(3, other)
  await spoilLog(under, async ({ client }) => {
    for (const table of ['audit_entries', 'audit_heads']) {
      await client.query(`delete from ${table} where workspace_id = $1`, [under.workspaceId])
      await client.query(`update ${table} set workspace_id = $1`, [under.workspaceId])
    }
  })
  const { broken_at, finding } = await under.verify()
  assert.equal(broken_at, 1)
  assert.equal(finding, 'Entry 1 was written for another workspace.')
})

it('an older head that was signed in its time goes unseen by the store alone', async test => {
  const under = await auditUnderTest(test)
  await under.write(6)
  const older = await findHead(under.database, under.workspaceId)
  await under.write(3)
  await spoilLog(under, async spoiling => {
    await remove(spoiling, 'sequence > 6')
    await spoiling.client.query('update audit_heads set sequence = 6, hash = $1, signature = $2', [
      older?.hash,
      older?.signature,
    ])
  })
  // What finds it lies outside of the store: verify-chains.test.ts.
  assert.ok((await under.verify()).is_intact)
})

function forgedText(body: string) {
  return { body, hash: hashBody(body) }
}
