import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { FORWARDER_KINDS, renderForwarder } from './forwarder-template.ts'

const PLACE = { baseUrl: 'https://signalbox.example/api/v1', path: '/sb' }
const PRINT = join(import.meta.dirname, 'print-forwarder.ts')

describe('forwarderTemplate', () => {
  for (const kind of FORWARDER_KINDS) {
    it(`${kind}: contains the options, no secret and no placeholder`, () => {
      const text = renderForwarder(kind, { ...PLACE, tagPath: '/tag.js' })
      assert.match(text, /https:\/\/signalbox\.example\/api\/v1/)
      assert.match(text, /https:\/\/signalbox\.example\/tag\.js/)
      assert.match(text, /\/sb/)
      assert.match(text, /Forwarding does not replace consent/)
      assert.doesNotMatch(text, /__[A-Z_]+__|sbx_fwd|forward\.ts|begin tag.*\n.*\n.*__/)
      assert.ok(text.split('\n').every(line => line.length <= 110))
    })
  }

  it('nginx: passes Sec-GPC on, which proxy_pass_request_headers off would drop', () => {
    const [events = ''] = renderForwarder('nginx', PLACE).split('@signalbox_too_large {')
    assert.match(events, /proxy_pass_request_headers off;/)
    assert.match(events, /proxy_set_header Sec-GPC \$http_sec_gpc;/)
  })

  it('nginx: has no location for the tag without its path', () => {
    assert.doesNotMatch(renderForwarder('nginx', PLACE), /tag\.js|end tag/)
  })

  it('ignores a trailing slash', () => {
    const sloppy = { baseUrl: `${PLACE.baseUrl}/`, path: '/sb/' }
    assert.equal(renderForwarder('express', sloppy), renderForwarder('express', PLACE))
  })

  const WRONG: [what: string, change: object, message: RegExp][] = [
    ['a base URL without a scheme', { baseUrl: 'signalbox.example' }, /base URL/],
    ['a base URL that leaves its quotes', { baseUrl: `https://a.example/';x` }, /base URL/],
    ['a base URL with a query', { baseUrl: 'https://a.example/?a=b' }, /base URL/],
    ['a base URL that starts another directive', { baseUrl: 'https://a.example/ ; a' }, /base URL/],
    ['a path without a slash', { path: 'sb' }, /path in the shop/],
    ['the root as path', { path: '/' }, /path in the shop/],
    ['a path that opens a block', { path: '/sb {' }, /path in the shop/],
    ['a tag path that is a URL', { tagPath: 'https://a.example/tag.js' }, /path of the tag/],
    ['a tag path on another host', { tagPath: '//a.example/tag.js' }, /path of the tag/],
  ]
  for (const [what, change, message] of WRONG) {
    it(`refuses ${what}`, () => {
      for (const kind of FORWARDER_KINDS) {
        assert.throws(() => renderForwarder(kind, { ...PLACE, ...change }), {
          name: 'RangeError',
          message,
        })
      }
    })
  }
})

it('print-forwarder prints the text, or one sentence for an invalid argument', () => {
  const place = ['--base-url', PLACE.baseUrl, '--path', '/sb']
  const printed = execFileSync(process.execPath, [PRINT, 'nginx', ...place], { encoding: 'utf8' })
  assert.equal(printed, renderForwarder('nginx', PLACE))
  const wrong = spawnSync(process.execPath, [PRINT, 'apache', ...place], { encoding: 'utf8' })
  assert.equal(wrong.status, 1)
  assert.equal(wrong.stderr, 'Name one of: cloudflare-worker, nginx, next-route, express.\n')
})

it('the templates are complete programs that compile on their own', test => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-templates-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = FORWARDER_KINDS.filter(kind => kind !== 'nginx').map(kind => {
    const file = join(folder, `${kind}.mts`)
    writeFileSync(file, renderForwarder(kind, { ...PLACE, tagPath: '/tag.js' }))
    return file
  })
  const modules = join(import.meta.dirname, '../../node_modules')
  const types = ['--types', 'node', '--typeRoots', join(modules, '@types')]
  const strict = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext']
  const tsc = join(modules, 'typescript', 'bin', 'tsc')
  const checked = spawnSync(
    process.execPath,
    [tsc, '--ignoreConfig', ...strict, ...types, ...files],
    { encoding: 'utf8' },
  )
  assert.equal(checked.stdout, '')
  assert.equal(checked.status, 0)
})
