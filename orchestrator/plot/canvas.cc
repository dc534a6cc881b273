#include "orchestrator/plot/canvas.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#include <cmath>
#include <numbers>

namespace retort::orchestrator::plot {
namespace {

// A family that is always asked for by name, since widths, and with them the layout, follow from it.
constexpr const char* kFamily = "DejaVu Sans";

cairo_status_t Append(void* text, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

void SetFont(cairo_t* cairo, Font font) {
  cairo_select_font_face(cairo, kFamily, CAIRO_FONT_SLANT_NORMAL,
                         font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, font.size);
}

// Without any font cairo falls back to one of its own, which has no Greek.
bool HasFont(cairo_t* cairo) {
  SetFont(cairo, {});
  return cairo_scaled_font_get_type(cairo_get_scaled_font(cairo)) == CAIRO_FONT_TYPE_FT;
}

Canvas::Path Polygon(double x, double y, double radius, int corners, double first) {
  Canvas::Path path;
  for (int i = 0; i < corners; ++i) {
    const double angle = first + 2 * std::numbers::pi * i / corners;
    path.emplace_back(x + radius * std::sin(angle), y - radius * std::cos(angle));
  }
  path.push_back(path.front());
  return path;
}

Canvas::Path Star(double x, double y, double radius) {
  Canvas::Path path;
  for (int i = 0; i < 10; ++i) {
    const double angle = std::numbers::pi * i / 5, reach = i % 2 == 0 ? radius : 0.45 * radius;
    path.emplace_back(x + reach * std::sin(angle), y - reach * std::cos(angle));
  }
  path.push_back(path.front());
  return path;
}

Canvas::Path Cross(double x, double y, double r) {
  const double a = 0.36 * r;
  Canvas::Path path;
  for (const auto& [dx, dy] : {std::pair{-a, -r},
                               {a, -r},
                               {a, -a},
                               {r, -a},
                               {r, a},
                               {a, a},
                               {a, r},
                               {-a, r},
                               {-a, a},
                               {-r, a},
                               {-r, -a},
                               {-a, -a},
                               {-a, -r}})
    path.emplace_back(x + dx, y + dy);
  return path;
}

// Shapes of about the same area; empty for the circle.
Canvas::Path MakeOutline(Marker marker, double x, double y, double radius) {
  switch (marker) {
    case Marker::circle:
      return {};
    case Marker::square:
      return Polygon(x, y, 1.22 * radius, 4, std::numbers::pi / 4);
    case Marker::triangle:
      return Polygon(x, y + 0.2 * radius, 1.35 * radius, 3, 0);
    case Marker::diamond:
      return Polygon(x, y, 1.3 * radius, 4, 0);
    case Marker::inverted:
      return Polygon(x, y - 0.2 * radius, 1.35 * radius, 3, std::numbers::pi);
    case Marker::pentagon:
      return Polygon(x, y, 1.15 * radius, 5, 0);
    case Marker::cross:
      return Cross(x, y, 1.2 * radius);
    case Marker::star:
      return Star(x, y, 1.5 * radius);
  }
  return {};
}

}  // namespace

struct Canvas::Surface {
  Format format = Format::svg;
  std::string bytes;
  cairo_surface_t* surface = nullptr;
  cairo_t* cairo = nullptr;

  Surface(Format of, double width, double height) : format(of) {
    surface = Create(width, height);
    cairo = cairo_create(surface);
    if (format == Format::png) cairo_scale(cairo, kPixelsPerPoint, kPixelsPerPoint);
    // Widths that do not depend on the resolution, so that all formats have one layout.
    cairo_font_options_t* options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(cairo, options);
    cairo_font_options_destroy(options);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  }
  [[nodiscard]] cairo_surface_t* Create(double width, double height) {
    if (format == Format::svg) return cairo_svg_surface_create_for_stream(Append, &bytes, width, height);
    if (format == Format::png) {
      const auto pixels = [](double points) { return static_cast<int>(std::ceil(points * kPixelsPerPoint)); };
      return cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels(width), pixels(height));
    }
    cairo_surface_t* pdf = cairo_pdf_surface_create_for_stream(Append, &bytes, width, height);
    cairo_pdf_surface_restrict_to_version(pdf, CAIRO_PDF_VERSION_1_5);
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATE_DATE, nullptr);  // else that of today
    return pdf;
  }
  ~Surface() {
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
  }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  void Colour(const plot::Colour& colour, double opacity) const {
    cairo_set_source_rgba(cairo, colour.red, colour.green, colour.blue, opacity);
  }
  void Trace(const Path& path) const {
    cairo_new_path(cairo);
    for (const auto& [x, y] : path) cairo_line_to(cairo, x, y);
    if (path.size() > 2 && path.front() == path.back()) cairo_close_path(cairo);
  }
  void Outline(double width, const Dashes& dashes) const {
    cairo_set_line_width(cairo, width);
    cairo_set_dash(cairo, dashes.data(), static_cast<int>(dashes.size()), 0);
    cairo_stroke(cairo);
  }
};

Canvas::Canvas(Format format, double width, double height)
    : surface_(std::make_unique<Surface>(format, width, height)) {
  surface_->Colour({1, 1, 1}, 1);
  cairo_paint(surface_->cairo);
}

Canvas::~Canvas() = default;

double Canvas::Width(const std::string& text, Font font) const {
  SetFont(surface_->cairo, font);
  cairo_text_extents_t extents;
  cairo_text_extents(surface_->cairo, text.c_str(), &extents);
  return extents.x_advance;
}

void Canvas::Stroke(const Path& path, Colour colour, double width, const Dashes& dashes) {
  surface_->Colour(colour, 1);
  surface_->Trace(path);
  surface_->Outline(width, dashes);
}

void Canvas::Fill(const Path& path, Colour colour, double opacity) {
  surface_->Colour(colour, opacity);
  surface_->Trace(path);
  cairo_fill(surface_->cairo);
}

void Canvas::FillRectangle(double x, double y, double width, double height, Colour colour, double opacity) {
  surface_->Colour(colour, opacity);
  cairo_new_path(surface_->cairo);
  cairo_rectangle(surface_->cairo, x, y, width, height);
  cairo_fill(surface_->cairo);
}

void Canvas::StrokeRectangle(double x, double y, double width, double height, Colour colour, double stroke,
                             const Dashes& dashes) {
  surface_->Colour(colour, 1);
  cairo_new_path(surface_->cairo);
  cairo_rectangle(surface_->cairo, x, y, width, height);
  surface_->Outline(stroke, dashes);
}

void Canvas::DrawMarker(Marker marker, double x, double y, double radius, Colour colour, bool hollow) {
  const Path outline = MakeOutline(marker, x, y, radius);
  const auto trace = [&] {
    if (!outline.empty()) return surface_->Trace(outline);
    cairo_new_path(surface_->cairo);
    cairo_arc(surface_->cairo, x, y, radius, 0, 2 * std::numbers::pi);
    cairo_close_path(surface_->cairo);
  };
  trace();
  surface_->Colour(hollow ? plot::Colour{1, 1, 1} : colour, 1);
  cairo_fill_preserve(surface_->cairo);
  surface_->Colour(hollow ? colour : plot::Colour{1, 1, 1}, 1);
  surface_->Outline(hollow ? 1.2 : 0.5, {});
}

void Canvas::Dot(double x, double y, double radius, Colour colour, double opacity) {
  surface_->Colour(colour, opacity);
  cairo_new_path(surface_->cairo);
  cairo_arc(surface_->cairo, x, y, radius, 0, 2 * std::numbers::pi);
  cairo_fill(surface_->cairo);
}

void Canvas::Text(const std::string& text, double x, double y, Font font, Colour colour, double angle) {
  cairo_t* cairo = surface_->cairo;
  cairo_save(cairo);
  SetFont(cairo, font);
  surface_->Colour(colour, 1);
  cairo_translate(cairo, x, y);
  cairo_rotate(cairo, -angle);
  cairo_move_to(cairo, 0, 0);
  cairo_show_text(cairo, text.c_str());
  cairo_restore(cairo);
}

void Canvas::Image(const std::vector<std::uint8_t>& pixels, int pixel_width, int pixel_height, double x, double y,
                   double width, double height) {
  cairo_t* cairo = surface_->cairo;
  cairo_surface_t* image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixel_width, pixel_height);
  cairo_surface_flush(image);
  unsigned char* rows = cairo_image_surface_get_data(image);
  const int stride = cairo_image_surface_get_stride(image);
  for (int row = 0; rows != nullptr && row < pixel_height; ++row) {
    auto* into = reinterpret_cast<std::uint32_t*>(rows + static_cast<std::ptrdiff_t>(row) * stride);
    for (int column = 0; column < pixel_width; ++column) {
      const std::uint8_t* from = &pixels[3 * (static_cast<std::size_t>(row) * static_cast<std::size_t>(pixel_width) +
                                              static_cast<std::size_t>(column))];
      into[column] = (std::uint32_t{from[0]} << 16U) | (std::uint32_t{from[1]} << 8U) | from[2];
    }
  }
  cairo_surface_mark_dirty(image);
  cairo_save(cairo);
  cairo_translate(cairo, x, y);
  cairo_scale(cairo, width / pixel_width, height / pixel_height);
  cairo_set_source_surface(cairo, image, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
  cairo_rectangle(cairo, 0, 0, pixel_width, pixel_height);
  cairo_fill(cairo);
  cairo_restore(cairo);
  cairo_surface_destroy(image);
}

void Canvas::Clip(double x, double y, double width, double height) {
  cairo_save(surface_->cairo);
  cairo_new_path(surface_->cairo);
  cairo_rectangle(surface_->cairo, x, y, width, height);
  cairo_clip(surface_->cairo);
}

void Canvas::Unclip() { cairo_restore(surface_->cairo); }

void Canvas::SetTitle(const std::string& title) {
  if (surface_->format == Format::pdf)
    cairo_pdf_surface_set_metadata(surface_->surface, CAIRO_PDF_METADATA_TITLE, title.c_str());
}

Result<std::string> Canvas::Finish() {
  if (!HasFont(surface_->cairo))
    return EnvironmentError(
        "no font is installed to write a figure with; `apt-get install fonts-dejavu-core` brings the one that it is "
        "made for.");
  cairo_status_t status = cairo_status(surface_->cairo);
  if (status == CAIRO_STATUS_SUCCESS && surface_->format == Format::png)
    status = cairo_surface_write_to_png_stream(surface_->surface, Append, &surface_->bytes);
  cairo_surface_finish(surface_->surface);
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface_->surface);
  if (status != CAIRO_STATUS_SUCCESS && status != CAIRO_STATUS_SURFACE_FINISHED)
    return EnvironmentError(std::string("cairo cannot draw the figure: ") + cairo_status_to_string(status) + ".");
  // Of the same length, so that what the file says of its offsets stays true.
  if (surface_->format == Format::pdf && surface_->bytes.size() > kPdfMark.size())
    surface_->bytes.replace(0, kPdfMark.size(), kPdfMark);
  return std::move(surface_->bytes);
}

}  // namespace retort::orchestrator::plot
