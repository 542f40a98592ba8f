import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { it } from 'node:test'
import { installPinnedPython, openToolchain } from '../../../testing/toolchains.ts'
import { assertEveryCaseRan } from '../behavior-table.ts'
import { createHashVectors } from '../hash-texts.ts'
import {
  buildWheel,
  CACHE,
  openPython,
  PIP,
  readmePrograms,
  runPython,
  temporaryFolder,
} from './python-tools.ts'

const VERSION = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
).version
const TIMEOUT = { timeout: 900_000 }

it('both clients run every case of the table', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const path = join(temporaryFolder(test), 'ran.json')
  const environment = { SIGNALBOX_RAN_CASES: path }
  await runPython(python, ['-m', 'pytest', '--ignore=tests/service'], { environment })
  const { threads, asyncio } = JSON.parse(readFileSync(path, 'utf8'))
  assertEveryCaseRan(threads)
  assertEveryCaseRan(asyncio)
})

it('digests as the TypeScript client does, in every script', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const path = join(temporaryFolder(test), 'vectors.json')
  writeFileSync(path, JSON.stringify(await createHashVectors()))
  const environment = { SIGNALBOX_HASH_VECTORS: path }
  const output = await runPython(python, ['-m', 'pytest', 'tests/test_hash.py'], { environment })
  assert.doesNotMatch(output, /skipped/)
})

it(
  'passes ruff and strict type checks, with its tests, examples and README',
  TIMEOUT,
  async test => {
    const python = openPython(test)
    if (python === null) return
    const folder = temporaryFolder(test)
    const files = readmePrograms().map((program, at) => {
      const path = join(folder, `program_${at}.py`)
      writeFileSync(path, program)
      return path
    })
    await runPython(python, ['-m', 'ruff', 'check', '--no-cache', '--quiet'])
    await runPython(python, ['-m', 'ruff', 'format', '--no-cache', '--check', '--quiet'])
    const cache = ['--cache-dir', join(CACHE, 'mypy')]
    const output = await runPython(python, ['-m', 'mypy', ...cache])
    assert.match(output, /^Success: no issues found in \d+ source files/)
    await runPython(python, ['-m', 'mypy', ...cache, ...files])
  },
)

it('works in an empty environment when its wheel is installed', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const folder = temporaryFolder(test)
  const wheel = await buildWheel(python, folder)
  assert.equal(basename(wheel), `signalbox_events-${VERSION}-py3-none-any.whl`)

  // A virtual environment with nothing but the lock.
  const lock = join(import.meta.dirname, 'requirements', 'runtime.txt')
  const empty = openToolchain(test, 'python', () => installPinnedPython(python, lock))
  if (empty === null) return
  const fresh = ['--no-deps', '--no-index', '--force-reinstall']
  const elsewhere = { environment: { PYTHONPATH: '' }, folder }
  await runPython(empty, [...PIP, 'install', ...fresh, wheel], elsewhere)
  await runPython(empty, [...PIP, 'check'], elsewhere)
  const program = [
    'import importlib.metadata, signalbox',
    'signalbox.Signalbox(token="sbx_sk_1", base_url="http://127.0.0.1:1").close()',
    '[license] = importlib.metadata.metadata("signalbox-events").get_all("License-File")',
    'distribution = importlib.metadata.distribution("signalbox-events")',
    'print(signalbox.hash.email("John_Smith@gmail.com"))',
    'print(distribution.read_text(f"licenses/{license}"), end="")',
  ]
  const output = await runPython(empty, ['-c', program.join('\n')], elsewhere)
  const license = readFileSync(join(import.meta.dirname, '../../../LICENSE'), 'utf8')
  assert.match(output, /^62a14e44f765419d/)
  assert.equal(output.slice(output.indexOf('\n') + 1), license)

  // Type checkers read the types of the installed package.
  const path = join(folder, 'main.py')
  writeFileSync(path, 'import signalbox\nreveal_type(signalbox.hash.email("a@b.example"))\n')
  const options = ['--strict', '--python-executable', empty, '--cache-dir', join(folder, 'mypy')]
  const types = await runPython(python, ['-m', 'mypy', ...options, path], elsewhere)
  assert.match(types, /Revealed type is "(builtins\.)?str \| None"|Union\[.*str.*None\]/)
})
