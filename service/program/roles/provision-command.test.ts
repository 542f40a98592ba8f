import assert from 'node:assert/strict'
import { it } from 'node:test'
import { tinyPlatform } from '../../../examples/tiny-platform/tiny-platform.ts'
import { parseRequest } from '../../../testing/fixtures/command-line.ts'
import { createOfflinePlatforms, PlatformRegistry } from '../../signals/platforms/registry.ts'
import { defineProvisionCommand, type ProvisionRequest } from './provision-command.ts'

const PLATFORM_NAMES = [...createOfflinePlatforms().names].join(', ')

const tiny = tinyPlatform({ baseUrl: 'http://127.0.0.1:9' })
const platforms = new PlatformRegistry([...createOfflinePlatforms().all, tiny])

function parse(line: string): Promise<ProvisionRequest> {
  const argumentList = `--out /x.json --platform ${line}`.split(' ')
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

it('refuses an unknown platform, naming the known ones, and an incomplete target', async () => {
  const incomplete = '--target and --token-from need each other: name both, or neither.'
  for (const [line, message] of [
    ['nope', `--platform takes one of ${PLATFORM_NAMES}, tiny, not nope.`],
    ['tiny', incomplete],
    ['tiny --target board=sales', incomplete],
    [
      'tiny --target board --token-from -',
      "--target takes a member of the destination's config and its value, name=value, not board.",
    ],
    [
      'tiny --dataset 123 --token-from -',
      'The platform tiny cannot send to {"dataset_id":"123"}: name the members of its target ' +
        'with --target.',
    ],
  ] as const) {
    await assert.rejects(parse(line), { name: 'StartError', message }, line)
  }
})
