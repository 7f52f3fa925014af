#pragma once

// and, or, not and their like are words of the language.
