import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type VariantColorsResolver,
} from '@mantine/core'

/** The nonce that the content security policy of this page allows for style elements. */
export const STYLE_NONCE =
  document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? ''

/** Shades 7 and 3 are the action colors of `design/tokens.css` in light and dark mode. */
const BRAND = [
  ...(['#eaf6f0', '#d3ecdf', '#a9dcc4', '#5cc9a0', '#3aac84'] as const),
  ...(['#1f906b', '#127a5a', '#0b6b4f', '#08523d', '#06382a'] as const),
] as const

/** The grounds, lines and text colors of the tokens, which Mantine's controls take from here. */
const GRAY = [
  ...(['#f6f7f5', '#eef1ee', '#dbe1dc', '#c3ccc6', '#8a9990'] as const),
  ...(['#7a8a82', '#53605a', '#3f4b45', '#2b342f', '#17211d'] as const),
] as const
const DARK = [
  ...(['#eaf0ec', '#c9d4ce', '#a9b7b0', '#7d8f86', '#3e4c45'] as const),
  ...(['#2f3b35', '#19211d', '#101613', '#0c110f', '#080c0a'] as const),
] as const

/** Mantine writes on a button in the contrast of light mode, in both schemes. */
const variantColorResolver: VariantColorsResolver = input => {
  const colors = defaultVariantColorsResolver(input)
  const isAction = input.variant === 'filled' && (input.color ?? 'brand') === 'brand'
  if (!isAction) return colors
  return {
    ...colors,
    background: 'var(--color-action)',
    hover: 'var(--color-action-strong)',
    color: 'var(--color-action-text)',
  }
}

/** Both kinds of pages look alike: Mantine takes its values from the design tokens. */
export const theme = createTheme({
  colors: { brand: BRAND, gray: GRAY, dark: DARK },
  primaryColor: 'brand',
  primaryShade: { light: 7, dark: 3 },
  autoContrast: true,
  luminanceThreshold: 0.4,
  variantColorResolver,
  fontFamily: 'var(--font-text)',
  fontFamilyMonospace: 'var(--font-code)',
  // Denser than the server-drawn pages: people read lists here all day.
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: {
    fontFamily: 'var(--font-text)',
    fontWeight: '650',
    sizes: {
      h2: { fontSize: '1.375rem' },
      h3: { fontSize: '1.125rem' },
      h4: { fontSize: '1rem' },
      h5: { fontSize: '0.9375rem' },
    },
  },
  defaultRadius: 'md',
  respectReducedMotion: true,
  cursorType: 'pointer',
})

const TOKENS = {
  '--mantine-color-body': 'var(--color-ground)',
  '--mantine-color-text': 'var(--color-text)',
  '--mantine-color-dimmed': 'var(--color-text-quiet)',
  '--mantine-color-anchor': 'var(--color-link)',
  '--mantine-color-error': 'var(--color-danger)',
  '--mantine-color-placeholder': 'var(--color-text-quiet)',
  '--mantine-color-default-border': 'var(--color-line-control)',
  '--mantine-color-default': 'var(--color-surface)',
  '--mantine-color-default-hover': 'var(--color-surface-quiet)',
  '--mantine-color-default-color': 'var(--color-text)',
  '--mantine-color-gray-light': 'var(--color-surface-quiet)',
  '--mantine-color-gray-light-hover': 'var(--color-surface-quiet)',
  '--mantine-color-gray-light-color': 'var(--color-text)',
  ...lightVariant('brand', 'success'),
  ...lightVariant('red', 'danger'),
  ...lightVariant('yellow', 'notice'),
}

/** The pale variant of a Mantine color, for badges and notices, in the colors of a meaning. */
function lightVariant(color: string, meaning: 'success' | 'danger' | 'notice') {
  return {
    [`--mantine-color-${color}-light`]: `var(--color-${meaning}-ground)`,
    [`--mantine-color-${color}-light-hover`]: `var(--color-${meaning}-ground)`,
    [`--mantine-color-${color}-light-color`]: `var(--color-${meaning})`,
  }
}

export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: TOKENS,
  dark: TOKENS,
})
