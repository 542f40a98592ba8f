import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { it } from 'node:test'
import { runInProcess } from '../../testing/run-command.ts'

const print = async (shell: string) =>
  (await runInProcess(['completion', shell], { folder: '/nowhere', now: () => new Date() })).stdout

it('completes commands, options and choices in bash', async () => {
  const script = await print('bash')
  const complete = (...words: string[]) => {
    const line = words.map(word => `'${word}'`).join(' ')
    const program = `${script}
COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _signalbox; echo "\${COMPREPLY[*]}"`
    return execFileSync('bash', ['-c', program], { encoding: 'utf8' }).trim().split(' ')
  }
  assert.deepEqual(complete('signalbox', 'de'), ['destinations', 'deliveries'])
  assert.deepEqual(complete('signalbox', 'events', ''), [
    ...['create', 'get', 'list', '--version', '--json', '--base-url', '--no-color', '--quiet'],
    ...['--verbose', '--help'],
  ])
  assert.deepEqual(complete('signalbox', 'events', 'create', '--consent'), [
    '--consent-basis',
    '--consent-granted-at',
  ])
  assert.deepEqual(complete('signalbox', 'destinations', 'test-mode', 'id', 'of'), ['off'])
})

it('prints scripts of zsh and fish with every command', async () => {
  const zsh = await print('zsh')
  assert.match(zsh, /^#compdef signalbox\n/)
  // `path` is the search path of zsh.
  assert.doesNotMatch(zsh, /\bpath=/)
  const fish = await print('fish')
  assert.match(fish, /-n '__fish_use_subcommand' -f -a events /)
  assert.match(fish, /__fish_seen_subcommand_from create' -l dry-run /)
})
