import Theme from 'vitepress/theme-without-fonts';
import './colors.css';

export default Theme;
