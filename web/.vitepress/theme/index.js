import { nextTick, onMounted, watch } from 'vue';
import { useRoute } from 'vitepress';
import Theme from 'vitepress/theme-without-fonts';
import LiveModel from './LiveModel.vue';
import './colors.css';
import './layout.css';

/** Gives the start its main landmark, and the button of the search the name that it shows. */
async function makeAccessible() {
  await nextTick();
  document.querySelector('.VPHome')?.setAttribute('role', 'main');
  document.querySelector('.DocSearch')?.removeAttribute('aria-label');
}

export default {
  extends: Theme,
  enhanceApp: (/** @type {any} */ { app }) => app.component('LiveModel', LiveModel),
  setup() {
    const route = useRoute();
    onMounted(makeAccessible);
    watch(() => route.path, makeAccessible);
  },
};
