#include "start_page.h"

#include "pairsieve/sim.h"

#include <stb/stb_image.h>
#include <string.h>

static GLuint load_picture(const char *scene) {
    const view_start_picture *file = view_start_pictures;
    while (file->name != NULL && strcmp(file->name, scene) != 0)
        ++file;
    int width = 0, height = 0, channels = 0;
    if (file->name == NULL) return 0;
    unsigned char *pixels = stbi_load_from_memory(file->bytes, (int)file->length, &width, &height, &channels, 4);
    if (pixels == NULL) return 0;
    const GLuint texture = view_new_texture(GL_RGBA8, width, height, GL_LINEAR);
    glTextureSubImage2D(texture, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    stbi_image_free(pixels);
    return texture;
}

void view_open_start(view_start_page *page) {
    const char *name = NULL;
    page->shown = page->used = page->turned = true;
    if (page->count > 0) return;
    for (uint32_t i = 0; i < VIEW_START_SCENES && (name = psv_shipped_scene_name(i)) != NULL; ++i)
        page->scenes[page->count++] = (view_start_scene){name, psv_shipped_scene_description(i), load_picture(name)};
}

void view_destroy_start(view_start_page *page) {
    for (uint32_t i = 0; i < page->count; ++i)
        glDeleteTextures(1, &page->scenes[i].picture);
    memset(page, 0, sizeof *page);
}

static void move(view_start_page *page, uint32_t to) {
    if (to < page->count) page->chosen = to; // from the first one back: too large a number
    page->turned = true;
}

bool view_start_key(view_start_page *page, SDL_Keycode key, uint32_t columns) {
    switch (key) {
    case SDLK_LEFT: move(page, page->chosen - 1); break;
    case SDLK_RIGHT: move(page, page->chosen + 1); break;
    case SDLK_UP: move(page, page->chosen - columns); break;
    case SDLK_DOWN: move(page, page->chosen + columns); break;
    case SDLK_HOME: move(page, 0); break;
    case SDLK_END: move(page, page->count - 1); break;
    case SDLK_RETURN:
    case SDLK_KP_ENTER:
    case SDLK_SPACE: return page->chosen < page->count;
    default: break;
    }
    return false;
}
