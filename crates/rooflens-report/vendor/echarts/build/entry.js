// What the charts of a page use of Apache ECharts, and nothing else.
import { init, use } from "echarts/core";
import { BarChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent, AxisPointerComponent, DataZoomInsideComponent, GridSimpleComponent,
  MarkLineComponent, TooltipComponent, VisualMapContinuousComponent,
} from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

use([
  BarChart, HeatmapChart, LineChart, ScatterChart,
  AriaComponent, AxisPointerComponent, DataZoomInsideComponent, GridSimpleComponent,
  MarkLineComponent, TooltipComponent, VisualMapContinuousComponent,
  SVGRenderer,
]);

export { init };
