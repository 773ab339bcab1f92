import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./app.ts";

new App().start();
