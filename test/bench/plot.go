package main

import (
	"bytes"
	"image/color"
	"os"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The size of a picture and of its elements.
const (
	width  = 18 * vg.Centimeter
	height = 10 * vg.Centimeter
)

// look returns the style of a subject. Subjects differ in more than the color.
func look(subject string) (color.Color, draw.GlyphDrawer, []vg.Length) {
	switch subject {
	case nameFloor:
		return color.RGBA{0x80, 0x80, 0x80, 0xff}, draw.CrossGlyph{}, []vg.Length{4, 3}
	case nameLifted:
		return color.RGBA{0x00, 0x72, 0xb2, 0xff}, draw.BoxGlyph{}, nil
	case nameShipped:
		return color.RGBA{0xe6, 0x9f, 0x00, 0xff}, draw.TriangleGlyph{}, nil
	}
	return color.RGBA{0xd5, 0x5e, 0x00, 0xff}, draw.CircleGlyph{}, nil
}

// newPicture returns a plot with a white background, to be readable on dark pages.
func newPicture(title, x, y string) *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.BackgroundColor = color.White
	p.Title.Padding = vg.Points(8)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(3)
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), -vg.Points(4)
	p.Add(plotter.NewGrid())
	return p
}

// drawScale plots the time until all pods existed against their number.
func (r *results) drawScale(path string) error {
	p := newPicture("Seconds until N pods are there", "N", "seconds")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	for _, subject := range subjects() {
		var points plotter.XYs
		for _, size := range r.agenda.sizes {
			if s := r.spread(subject, size.pods, created); s.n > 0 {
				points = append(points, plotter.XY{X: float64(size.pods), Y: s.median})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, dots.Shape, line.Dashes = look(subject)
		line.Width, dots.Color, dots.Radius = vg.Points(1.5), line.Color, vg.Points(3)
		p.Add(line, dots)
		p.Legend.Add(subject, line, dots)
	}
	return save(p, path)
}

// drawCurve plots the number of pods against the time since the request.
func (r *results) drawCurve(path string) error {
	p := newPicture("Pods that are there, on the way up", "seconds", "pods")
	longest := 0.0
	for _, subject := range subjects() {
		runs := r.curveRuns(subject)
		if len(runs) == 0 {
			continue
		}
		points := plotter.XYs{{X: 0, Y: 0}}
		for i, at := range middle(runs).births {
			points = append(points, plotter.XY{X: at.Seconds(), Y: float64(i + 1)})
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, _, line.Dashes = look(subject)
		line.Width = vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(subject, line)
		if subject != nameShipped {
			longest = max(longest, points[len(points)-1].X)
		}
	}
	// The ReplicaSet as shipped would squeeze the others against the left edge.
	p.X.Max = 1.5 * longest
	p.Legend.Left = false
	p.Legend.Top = false
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(8), vg.Points(8)
	return save(p, path)
}

// save writes a picture with embedded outlines, because viewers may lack its font.
func save(p *plot.Plot, path string) error {
	picture, err := p.WriterTo(width, height, "svg")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := picture.WriteTo(&b); err != nil {
		return err
	}
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans", "font-family:Liberation Sans,Arial,sans-serif")
	return os.WriteFile(path, []byte(text), 0o644)
}

// middle returns the run with the median time, or next to it.
func middle(runs []sample) sample {
	var times []float64
	for _, s := range runs {
		times = append(times, created(s))
	}
	median, best := spreadOf(times).median, runs[0]
	for _, s := range runs {
		if abs(created(s)-median) < abs(created(best)-median) {
			best = s
		}
	}
	return best
}

func abs(x float64) float64 { return max(x, -x) }
