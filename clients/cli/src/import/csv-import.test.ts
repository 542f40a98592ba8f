import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { startCli } from '../../testing/run-command.ts'
import { CsvRows } from './read-csv.ts'

const FILL = ['--name', 'Purchase', '--currency', 'EUR', '--consent-basis', 'consent']

/** Runs `events create` with a file of these lines, and returns the JSON that it prints. */
async function startImport(test: TestContext) {
  const { service, folder, run } = await startCli(test)
  const path = join(folder, 'orders.csv')
  const importLines = async (lines: readonly string[], ...options: string[]) => {
    writeFileSync(path, `${lines.join('\n')}\n`)
    const result = await run(['events', 'create', '--file', path, ...options, '-q'])
    return { ...result, json: options.includes('--json') ? JSON.parse(result.stdout || '{}') : {} }
  }
  const eventOf = async (id: string) => (await service.read(id)).body
  return { service, run, importLines, eventOf }
}

it('reads a quoted cell over many lines', async test => {
  const { importLines } = await startImport(test)
  const cell = ['"first', 'a ""quoted"" word', '', ...Array(20_000).fill('more'), 'last"']
  const lines = ['id,note', `1,${cell.join('\n')}`, '2,x']
  const { json } = await importLines(lines, '--map', 'note=', ...FILL, '--dry-run', '--json')
  assert.deepEqual([json.lines, json.valid, json.refusals], [2, 2, []])
})

it('refuses the line of a stray quote and keeps every row after it', async test => {
  const { importLines, eventOf } = await startImport(test)
  const lines = [
    'id,value,note',
    '1,10.00,fine',
    '2,11.00,"stray',
    '3,12.00,"quoted, well"',
    '4,13.00,5" pipe',
    '5,14.00,"Big" pipe',
    '6,15.00,"two',
    'lines"',
    '7,16.00,"never closed',
    '8,17.00,last',
  ]
  const { json } = await importLines(lines, '--map', 'note=', ...FILL, '--json')
  assert.deepEqual([json.lines, json.stored, json.refused], [8, 6, 2])
  for (const id of ['1', '3', '4', '5', '6', '8']) {
    assert.equal((await eventOf(id)).event.event_name, 'Purchase', id)
  }
})

it('refuses a line of a stray quote that another stray quote seems to close', async test => {
  const { importLines } = await startImport(test)
  const lines = ['id,note,value', '1,"stray,10', '2,fine,11', '3,stray",12', '4,fine,13']
  const { json } = await importLines(lines, '--map', 'note=', ...FILL, '--dry-run', '--json')
  assert.deepEqual([json.lines, json.valid, json.refused], [4, 3, 1])
  assert.match(json.refusals[0].reason, /^A quote opens a cell and is not closed/)
  assert.equal(json.refusals[0].line, 2)
})

it('says where a quoted cell has lines that may be rows', async test => {
  const { importLines } = await startImport(test)
  const lines = ['id,visitor_id,note', '1,"a,x', '2,b",y', '3,c,z']
  const { json } = await importLines(lines, '--map', 'note=', ...FILL, '--dry-run', '--json')
  assert.deepEqual([json.lines, json.valid], [2, 2])
  const losses = json.dropped.map(({ code, count, line }: Record<string, unknown>) => [
    code,
    count,
    line,
  ])
  assert.deepEqual(losses, [
    ['member_dropped', 1, 2],
    ['row_doubtful', 1, 2],
  ])
})

it('loses no row to a quote, whatever the text of the cells', async () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '"'), maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 40 }), async notes => {
      const rows = new CsvRows(
        (async function* () {
          yield { number: 1, text: 'id,value,note', problem: '' }
          for (const [at, note] of notes.entries()) {
            yield { number: at + 2, text: `${at},1${at}.50,${note}`, problem: '' }
          }
        })(),
        undefined,
      )
      await rows.next()
      rows.recognizeRows(cells => (/^\d+\.\d\d$/.test(cells[1] ?? '') ? 'row' : 'none'))
      const seen: number[] = []
      for (let row = await rows.next(); row; row = await rows.next()) {
        seen.push(row.number)
        if (row.cells) assert.equal(row.cells[0], String(row.number - 2))
      }
      assert.deepEqual(
        seen,
        notes.map((_, at) => at + 2),
      )
    }),
  )
})

it('skips rows of blank cells and counts them', async test => {
  const { importLines, service } = await startImport(test)
  const lines = ['id;value;note', '1;10;a', ';;', ' ; ;\u00a0', '2;10;', ';;only ignored', '', ';;']
  const options = ['--map', 'note=', '--value', '10', ...FILL]
  const dry = await importLines(lines, ...options, '--dry-run', '--json')
  assert.deepEqual([dry.json.lines, dry.json.valid, dry.json.blank_rows], [2, 2, 4])
  const sent = await importLines(lines, ...options)
  assert.match(sent.stdout, / 2 stored\n {2}- 4 blank rows skipped\n$/)
  const { total } = (await service.request('GET', '/api/v1/dashboard/events')).body.events
  assert.equal(total, 2)
})

it('refuses two maps of one column, and two columns of one member', async test => {
  const { importLines } = await startImport(test)
  const lines = ['id,total', '1,10']
  const twice = ['--map', 'total=value', '--map', 'total=order_id', ...FILL]
  const { code, stderr } = await importLines(lines, ...twice)
  assert.equal(code, 2)
  assert.match(stderr, /--map names the column "total" twice\./)
  const same = await importLines(['id,value,total', '1,10,10'], '--map', 'total=value', ...FILL)
  assert.equal(same.code, 2)
  assert.match(same.stderr, /Two columns are value_data\.value\./)
})

const CONTENTS = JSON.stringify(Array.from({ length: 51 }, (_, at) => ({ id: `sku-${at}` })))
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

it('keeps a purchase whose other members the service would refuse, and says which', async test => {
  const { importLines, eventOf } = await startImport(test)
  const names = ['num_items', 'contents', 'content_type', 'content_category', 'custom_properties']
  const header = ['id', 'value', 'url', ...names.map(name => `value_data.${name}`)].join()
  const properties = JSON.stringify({ coupon: 'SPRING', a: { b: { c: { d: 1 } } } })
  const cells = ['1.5', quoted(CONTENTS), 'sofa', quoted('["Mugs","Blue"]'), quoted(properties)]
  const lines = [header, `1,10.00,/thanks,${cells.join()}`, '2,20.00,https://shop.example/,2,,,,']
  const dry = await importLines(lines, ...FILL, '--dry-run', '--json')
  assert.deepEqual([dry.json.valid, dry.json.refused], [2, 0])
  const { code, json } = await importLines(lines, ...FILL, '--json')
  assert.deepEqual([code, json.stored, json.refused], [0, 2, 0])
  assert.deepEqual(json.dropped, dry.json.dropped)
  const fields = json.dropped.map((loss: { field: string }) => loss.field).sort()
  assert.deepEqual(fields, [
    'event_source',
    'value_data.content_type',
    'value_data.contents',
    'value_data.custom_properties',
    'value_data.num_items',
  ])
  const { event } = await eventOf('1')
  assert.equal(event.value_data.contents.length, 50)
  assert.equal(event.value_data.content_category, 'Mugs, Blue')
  assert.deepEqual(event.value_data.custom_properties, { coupon: 'SPRING', a: { b: {} } })
})

it('counts what the service drops by field, in a dry run as in the real one', async test => {
  const { importLines } = await startImport(test)
  const lines = ['id,phone', '1,12', '2,12', '3,+493090182010']
  const dry = await importLines(lines, ...FILL, '--dry-run', '--json')
  assert.deepEqual(
    dry.json.dropped.map(({ field, count, line }: Record<string, unknown>) => [field, count, line]),
    [['user_data.ph', 2, 2]],
  )
  const { json } = await importLines(lines, ...FILL, '--json')
  assert.deepEqual(json.dropped, dry.json.dropped)
  const again = await importLines(lines, ...FILL)
  assert.match(again.stdout, / 3 were stored before\n$/)
})

it('says which duplicates differ from what is stored under their ID', async test => {
  const { importLines, run } = await startImport(test)
  const columns = 'id,name,value'
  await importLines([columns, '1,InitiateCheckout,10', '2,Purchase,20'], ...FILL)
  const { json } = await importLines([columns, '1,Purchase,10', '2,Purchase,20'], ...FILL, '--json')
  assert.deepEqual([json.stored, json.duplicates], [0, 2])
  const [{ code, field, count, line }] = json.dropped
  assert.deepEqual([code, field, count, line], ['differs_from_stored', 'event_id', 1, 2])
  const one = await run(['events', 'create', '--id', '2', ...FILL, '--value', '7'])
  assert.match(one.stdout, /^= 2 was stored before; .+\n! The event_id field names a stored event/)
})

const CONSENT_COLUMNS = ['consent.advertising', 'consent.captured_at'] as const
const AT = '2026-11-20T00:00:00Z'
const LEAD = ['--name', 'Lead', '--consent-basis', 'consent']

for (const isReversed of [false, true]) {
  const order = isReversed ? 'the time first' : 'the answer first'
  it(`never overwrites a consent cell, and a time grants nothing, ${order}`, async test => {
    const { importLines, service, eventOf } = await startImport(test)
    const row = (id: string, ...cells: string[]) =>
      [id, ...(isReversed ? cells.reverse() : cells), 'ada@example.com'].join()
    const columns = isReversed ? CONSENT_COLUMNS.toReversed() : CONSENT_COLUMNS
    const lines = [
      `id,${columns.join()},email`,
      row('denied', 'denied', AT),
      row('empty', '', AT),
      row('silent', '', ''),
      row('granted', 'granted', AT),
    ]
    const { json } = await importLines(lines, ...LEAD, '--json')
    assert.deepEqual([json.stored, json.refused], [3, 1])
    await service.deliver()
    const statusOf = async (id: string) => (await eventOf(id)).deliveries[0].status
    assert.equal((await service.read('denied')).status, 404)
    assert.equal(await statusOf('empty'), 'skipped:consent')
    assert.equal(await statusOf('silent'), 'skipped:consent')
    assert.equal(await statusOf('granted'), 'accepted')
    assert.equal((await eventOf('granted')).event.consent.captured_at, AT)
  })
}

it('takes the consent of a row from the row alone', async test => {
  const { importLines, service, eventOf } = await startImport(test)
  const statusOf = async (id: string) => (await eventOf(id)).deliveries[0].status
  const cases: [string, string[]][] = [
    ['id,consent.captured_at', [`time,${AT}`]],
    ['id,consent_basis', ['basis,consent', 'no-basis,']],
    ['id,consent_granted_at', [`agreed,${AT}`, 'not-agreed,']],
    ['id,consent_granted_at,consent.marketing', [`said-nothing,${AT},`]],
    ['id,consent_mode.ad_storage,consent_mode.ad_user_data', ['half,granted,']],
    ['id,consent_basis,consent.advertising', ['basis-only,consent,']],
  ]
  for (const [header, rows] of cases) {
    const lines = [`${header},email`, ...rows.map(row => `${row},ada@example.com`)]
    const { json } = await importLines(lines, ...LEAD, '--json')
    assert.equal(json.stored, rows.length, header)
  }
  await service.deliver()
  for (const id of ['basis', 'agreed']) assert.equal(await statusOf(id), 'accepted', id)
  const withheld = ['time', 'no-basis', 'not-agreed', 'said-nothing', 'half', 'basis-only']
  for (const id of withheld) assert.equal(await statusOf(id), 'skipped:consent', id)
})

it('refuses an option that says the consent of rows which say their own', async test => {
  const { importLines } = await startImport(test)
  const lines = ['id,consent.advertising', '1,']
  const { code, stderr } = await importLines(lines, ...FILL, '--consent-granted-at', AT)
  assert.equal(code, 2)
  assert.match(stderr, /each row says its own\.\nLeave out --consent-granted-at/)
})

it('takes no placeholder for the id of an event, and says so', async test => {
  const { importLines, eventOf } = await startImport(test)
  const ids = ['null', 'undefined', '0', '{{id}}', '[object Object]', 'kept']
  const lines = ['id,value', ...ids.map((id, at) => `${id},${at + 1}.00`)]
  for (const options of [['--dry-run'], []]) {
    const { json } = await importLines(lines, ...FILL, ...options, '--json')
    assert.equal(json.dropped.find((one: { field: string }) => one.field === 'event_id').count, 5)
    assert.deepEqual([json.repeated_ids ?? json.duplicates, json.refused], [0, 0])
    assert.equal(json.valid ?? json.stored, 6)
  }
  assert.equal((await eventOf('kept')).event.value_amount, 6)
})
