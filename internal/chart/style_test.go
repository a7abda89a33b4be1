package chart

import (
	"image"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every text can be read in light and in dark: its contrast is at least 4.5, as WCAG 2.1 wants it.
func TestContrast(t *testing.T) {
	light, dark, _ := strings.Cut(style, "@media")
	for mode, text := range map[string]string{"light": light, "dark": dark} {
		luminance := make(map[string]float64)
		for _, m := range regexp.MustCompile(`--(\w+): #(\w\w)(\w\w)(\w\w)`).FindAllStringSubmatch(text, -1) {
			for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
				value, _ := strconv.ParseUint(m[2+i], 16, 8) // hexadecimal digits
				part := float64(value) / 255
				if part <= 0.04045 {
					part /= 12.92
				} else {
					part = math.Pow((part+0.055)/1.055, 2.4)
				}
				luminance[m[1]] += weight * part
			}
		}
		for ground, texts := range map[string]string{
			"ground": "ink muted fault listing streaming opening watching waiting stopped",
			"panel":  "ink muted", "heat0": "ink", "heat1": "ink", "heat2": "ink", "heat3": "ink", "heat4": "ink", "never": "onNever",
		} {
			for _, text := range strings.Fields(texts) {
				a, b := luminance[text], luminance[ground]
				if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); len(luminance) < 20 || contrast < 4.5 {
					t.Errorf("%s on %s has contrast %.2f in %s", text, ground, contrast, mode)
				}
			}
		}
	}
}

// Words lie over nothing, and inside the picture.
func TestGraphWords(t *testing.T) {
	for words, want := range map[string]bool{"free": true, "over it": false, "left": false} {
		at := image.Pt(10, 50)
		if words == "left" {
			at.X = -1
		}
		_, err := Graph("", "", 100, 100, nil, []Arrow{{Path: "M60 10V90", Words: []string{words}, Base: at}})
		if (err == nil) != want {
			t.Errorf("%q: %v", words, err)
		}
	}
}
