import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { listSettings } from '../../runtime/settings/settings.ts'
import { PLATFORM_SETTINGS } from '../../signals/platforms/plug-ins.ts'
import { renderSettingsPage, SETTINGS_PAGE_PATH } from './print-settings.ts'

it('matches the committed page; otherwise run npm run settings:print', () => {
  assert.equal(readFileSync(SETTINGS_PAGE_PATH, 'utf8'), renderSettingsPage())
})

it('prints one row of five cells for every variable', () => {
  const rows = renderSettingsPage()
    .split('\n')
    .filter(line => line.startsWith('| `'))
  const names = rows.map(row => row.split('`')[1])
  assert.deepEqual(
    names,
    listSettings(PLATFORM_SETTINGS).map(([, { variable }]) => variable),
  )
  for (const row of rows) assert.equal(row.split(/(?<!\\)\|/).length, 7, row)
})

it('prints the default, range and description, and marks a secret', () => {
  const page = renderSettingsPage().replaceAll(/ +\|/g, ' |')
  assert.match(page, /^\| `PORT` \| `3000` \| integer, 0 to 65535 \| \| Port of the HTTP service/m)
  const database =
    /^\| `DATABASE_URL` \| unset \| `postgres:\/\/` or .+ \| yes \| PostgreSQL 15 to 18/m
  assert.match(page, database)
})
