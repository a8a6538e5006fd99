//! Plots as SVG. The names of series and levels stand beside them on the page, where they cover nothing.

use anyhow::anyhow;
use plotters::prelude::*;

use super::{Level, Mark, Plot};

/// Width and height in pixels; the page scales them.
const SIZE: (u32, u32) = (760, 440);
/// Colours that differ in lightness too, for those who see colours less well and for printers (Okabe and Ito 2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];
const LEVEL: RGBColor = RGBColor(140, 140, 140);

/// The colour of a plot's series, for styles.
pub(super) fn colour(series: usize) -> String {
    let RGBColor(red, green, blue) = COLOURS[series % COLOURS.len()];
    format!("rgb({red} {green} {blue})")
}

/// Draws a plot.
///
/// # Errors
/// When an axis has no length.
pub(super) fn svg(plot: &Plot) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(plot, &mut text).map_err(|error| anyhow!("the plot {} cannot be drawn: {error}", plot.id))?;
    Ok(text)
}

fn draw(plot: &Plot, text: &mut String) -> Result<(), String> {
    let ends = [(&plot.x, plot.x.low, plot.x.high), (&plot.y, plot.y.low, plot.y.high)];
    if let Some((axis, low, high)) = ends.into_iter().find(|(_, low, high)| !(low.is_finite() && high.is_finite() && low < high)) {
        return Err(format!("its axis `{}` goes from {low} to {high}", axis.name));
    }
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    area.fill(&WHITE).map_err(|error| failed(&error))?;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .margin_right(26)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(plot.x.low..plot.x.high, plot.y.low..plot.y.high)
        .map_err(|error| failed(&error))?;
    chart.configure_mesh().light_line_style(WHITE).x_desc(&plot.x.name).y_desc(&plot.y.name).draw().map_err(|error| failed(&error))?;
    for (series, colour) in plot.series.iter().zip(COLOURS.into_iter().cycle()) {
        let points = series.points.iter().map(|&[x, y]| (x, y)).filter(|(x, y)| x.is_finite() && y.is_finite());
        let style = colour.stroke_width(2);
        let drawn = match series.mark {
            Mark::Line => chart.draw_series(LineSeries::new(points, style)),
            Mark::Dots => chart.draw_series(points.map(|point| Circle::new(point, 3, colour.filled()))),
            Mark::Bars => {
                let points: Vec<(f64, f64)> = points.collect();
                let width = points.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(f64::INFINITY, f64::min);
                let width = if width.is_finite() { width } else { plot.x.high - plot.x.low };
                let bar = move |(x, y)| Rectangle::new([(x, 0.0), (x + width, y)], colour.mix(0.45).filled());
                chart.draw_series(points.into_iter().map(bar))
            }
        };
        drawn.map_err(|error| failed(&error))?;
    }
    for Level { at, upright, .. } in &plot.levels {
        let ends = if *upright { [(*at, plot.y.low), (*at, plot.y.high)] } else { [(plot.x.low, *at), (plot.x.high, *at)] };
        chart.draw_series(DashedLineSeries::new(ends, 5, 4, LEVEL.stroke_width(1))).map_err(|error| failed(&error))?;
    }
    area.present().map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Axis, Series};

    fn plot(high: f64) -> Plot {
        let series = [Mark::Line, Mark::Dots, Mark::Bars].map(|mark| Series {
            name: format!("of <{mark:?}>"),
            mark,
            points: vec![[0.0, 0.5], [0.5, 1.0], [0.75, f64::NAN]],
        });
        let levels = [(0.5, true), (0.25, false)].map(|(at, upright)| Level { name: format!("level {at}"), at, upright });
        Plot {
            id: "p".into(),
            title: "P".into(),
            x: Axis::new("x", 0.0, high),
            y: Axis::share("y"),
            series: series.into(),
            levels: levels.into(),
        }
    }

    #[test]
    fn all_marks_are_drawn() {
        let text = svg(&plot(1.0)).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        assert_eq!(text.matches("<circle").count(), 2, "a point that is no number is left out");
        assert!(text.contains("<polyline"), "{text}");
        assert_eq!([colour(0), colour(7)], ["rgb(0 114 178)"; 2]);
        let error = svg(&plot(0.0)).unwrap_err().to_string();
        assert!(error.contains("`x`"), "{error}");
    }
}
