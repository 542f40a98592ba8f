import assert from 'node:assert/strict'
import { it } from 'node:test'
import { tinyPlatform } from '../../../examples/tiny-platform/tiny-platform.ts'
import { parseRequest, runCommand } from '../../../testing/fixtures/command-line.ts'
import { createOfflinePlatforms, PlatformRegistry } from '../../signals/platforms/registry.ts'
import { defineProvisionCommand, type ProvisionRequest } from './provision-command.ts'

const PLATFORM_NAMES = [...createOfflinePlatforms().names].join(', ')

const tiny = tinyPlatform({ baseUrl: 'http://127.0.0.1:9' })
const platforms = new PlatformRegistry([...createOfflinePlatforms().all, tiny])

function parse(line: string): Promise<ProvisionRequest> {
  const argumentList = `--without-owner --out /x.json --platform ${line}`.split(' ')
  return parseRequest(handle => defineProvisionCommand(handle, platforms), argumentList)
}

it('connects any platform of the registry', async () => {
  const { connection } = await parse('tiny --target board=sales --token-from -')
  assert.deepEqual(connection, { platform: 'tiny', config: { board: 'sales' }, tokenFrom: '-' })
  const meta = await parse('meta --dataset 123 --token-from -')
  assert.deepEqual(meta.connection, {
    platform: 'meta',
    config: { dataset_id: '123' },
    tokenFrom: '-',
  })
})

it('refuses an unknown platform, naming the known ones, and an invalid member', async () => {
  for (const [line, message] of [
    ['nope', `--platform takes one of ${PLATFORM_NAMES}, tiny, not nope.`],
    [
      'tiny --target board --token-from -',
      "--target takes a member of the destination's config and its value, name=value, not board.",
    ],
    ['tiny --dataset 123 --token-from -', 'Tiny has no dataset_id: --target takes board.'],
  ] as const) {
    await assert.rejects(parse(line), { name: 'StartError', message }, line)
  }
})

it('names what is missing of a target and its credential, and where the platform shows it', async () => {
  const board = /^ {2}--target board=VALUE +\S.+\.$/m
  const token = /^ {2}--token-from FILE +\S.+\.?$/m
  for (const [line, expected] of [
    ['tiny', [/^Tiny needs more to be connected:\n/, board, token]],
    ['tiny --target board=sales', [/^Tiny needs more/, token]],
    ['tiny --token-from -', [/^Tiny needs more/, board]],
    ['google_ads', [/^ {2}--target customer_id=VALUE +Customer ID\. Ten digits /m, /^ {4}or /m]],
    ['google_ads --target customer_id=1 --token-from -', [/^Google Ads cannot send to \{.+Ten/s]],
  ] as const) {
    const text = await parse(line).then(
      () => '',
      error => String(error.message),
    )
    for (const part of expected) assert.match(text, part, line)
    assert.ok(!text.includes('--target quota_project'), 'optional members are not missing')
  }
})

it('asks for an owner, and refuses a simulator target at the platform itself', async () => {
  const environment = { SIGNALBOX_PLATFORM_URL: 'https://graph.facebook.com' }
  const run = (line: string) =>
    runCommand(`${line} --out /nowhere/x.json`.split(' '), { environment })
  for (const line of ['provision', 'provision --owner ada@shop.example --without-owner']) {
    const { code, stderr } = await run(line)
    assert.equal(code, 1, line)
    assert.match(stderr, /^Name the person who owns the workspace with --owner ADDRESS: /)
  }
  const { code, stderr } = await run('provision --owner ada@shop.example')
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^SIGNALBOX_PLATFORM_URL is https:\/\/graph\.facebook\.com, which refuses .+:\n {2}--target dataset_id=VALUE .+\n {2}--token-from FILE .+\nOr set SIGNALBOX_PLATFORM_URL to/,
  )
  const connect = await runCommand(
    ['destination', 'connect', '--platform', 'meta', '--simulator'],
    { environment },
  )
  assert.match(connect.stderr, /^SIGNALBOX_PLATFORM_URL is https:/)
})
