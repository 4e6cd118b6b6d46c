import Theme from 'vitepress/theme-without-fonts';
import './colours.css';

export default Theme;
