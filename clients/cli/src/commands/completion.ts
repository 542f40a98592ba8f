import { Argument, type Command } from 'commander'
import type { DefineGroup, Handler } from '../command-context.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

const INSTALL_HELP = `
Install it:
  bash  signalbox completion bash > ~/.local/share/bash-completion/completions/signalbox
  zsh   signalbox completion zsh > "\${fpath[1]}/_signalbox"
  fish  signalbox completion fish > ~/.config/fish/completions/signalbox.fish
`

export const defineCompletion: DefineGroup = (group, run) => {
  const print: Handler<object> = async (context, _options, [shell]) => {
    const program = group.parent
    if (program) await context.print(SCRIPTS[shell as Shell](listPlaces(program)))
    return undefined
  }
  group
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText('after', INSTALL_HELP)
    .action(run(print))
}

interface Word {
  word: string
  description: string
}

/** The words that may follow a command. */
interface Place {
  /** Such as `events create`; empty for the program itself. */
  path: string
  words: Word[]
}

function listPlaces(program: Command): Place[] {
  const global = optionWords(program)
  const visit = (command: Command, path: string): Place[] => {
    const own = command === program ? [] : optionWords(command)
    const children = command.commands.filter(child => child.name() !== 'help')
    const words = [
      ...children.map(child => ({ word: child.name(), description: child.description() })),
      ...command.registeredArguments.flatMap(({ argChoices = [] }) =>
        argChoices.map(word => ({ word, description: '' })),
      ),
      ...own,
      ...global,
      { word: '--help', description: 'show help' },
    ]
    const below = children.flatMap(child => visit(child, `${path} ${child.name()}`.trim()))
    return [{ path, words }, ...below]
  }
  return visit(program, '')
}

function optionWords(command: Command): Word[] {
  return command.options.map(({ long, short, description }) => ({
    word: long ?? short ?? '',
    description,
  }))
}

const SCRIPTS: Record<Shell, (places: readonly Place[]) => string> = {
  bash: places => `# bash completion of signalbox
_signalbox() {
  local place="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$word" == -* ]] && continue
    case "$place $word" in
${groupPatterns(places)}
    esac
  done
  local words=""
  case "$place" in
${wordPatterns(places, words => `words="${words.map(({ word }) => word).join(' ')}"`)}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}")
  [[ \${#COMPREPLY[@]} -eq 0 ]] && compopt -o default 2>/dev/null
  return 0
}
complete -F _signalbox signalbox
`,
  zsh: places => `#compdef signalbox
# zsh completion of signalbox
_signalbox() {
  local place="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] && continue
    case "$place $word" in
${groupPatterns(places)}
    esac
  done
  local -a found
  case "$place" in
${wordPatterns(places, words => `found=(${words.map(zshWord).join(' ')})`)}
  esac
  _describe signalbox found || _files
}
compdef _signalbox signalbox
`,
  fish: places =>
    [
      '# fish completion of signalbox',
      ...places.flatMap(({ path, words }) => words.map(each => fishLine(path, each))),
      '',
    ].join('\n'),
}

/** Takes one word further: `" events") place="events" ;;`. */
function groupPatterns(places: readonly Place[]): string {
  return places
    .filter(({ path }) => path !== '')
    .map(({ path }) => {
      const words = path.split(' ')
      const before = words.slice(0, -1).join(' ')
      return `      "${before} ${words.at(-1)}") place="${path}" ;;`
    })
    .join('\n')
}

/** What may follow each command. `path` is a name of zsh, so the scripts call it `place`. */
function wordPatterns(places: readonly Place[], assign: (words: Word[]) => string): string {
  return places.map(({ path, words }) => `    "${path}") ${assign(words)} ;;`).join('\n')
}

function zshWord({ word, description }: Word): string {
  return `'${word.replaceAll(':', '\\:')}:${description.replaceAll("'", '')}'`
}

function fishLine(path: string, { word, description }: Word): string {
  const condition =
    path === ''
      ? '__fish_use_subcommand'
      : path
          .split(' ')
          .map(each => `__fish_seen_subcommand_from ${each}`)
          .join('; and ')
  const option = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
  return `complete -c signalbox -n '${condition}' ${option} -d '${description.replaceAll("'", '')}'`
}
