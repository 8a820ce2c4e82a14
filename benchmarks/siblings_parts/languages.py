"""Texts and names in several scripts, each a function of its name.

English comes from the Markov chain in `whole_site_parts.prose`. In the other languages, words are
drawn evenly from a list, because nothing that is measured here depends on the meaning of sentences.
Two such texts have hardly any run of three words in common.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.prose import Prose, invented
from crawldedup.demo.site import all_articles
from crawldedup.fingerprinting.tokenize import count_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SEED: Final = 1
_WORDS_A_SENTENCE: Final = range(5, 13)
_SENTENCES_A_PARAGRAPH: Final = 4
_SHORTEST_WORD: Final = 3

_THAI: Final = (
    "โรงแรม ห้อง ทะเล เมือง ตลาด ถนน ร้าน อาหาร เช้า เย็น กลางคืน หาดทราย ภูเขา แม่น้ำ สะพาน วัด สวน "
    "ต้นไม้ ดอกไม้ ฝน ลม แดด เรือ รถไฟ สนามบิน สถานี ตั๋ว ราคา เงิน บริการ พนักงาน แขก เด็ก ครอบครัว เพื่อน "
    "ข้าว ปลา ผลไม้ กาแฟ น้ำชา หนังสือ แผนที่ กระเป๋า กุญแจ หน้าต่าง ประตู เตียง ผ้า ระเบียง สระน้ำ ใหญ่ "
    "เล็ก ใหม่ เก่า สวย สะอาด เงียบ ใกล้ ไกล ร้อน เย็นสบาย เดิน นั่ง นอน กิน ดื่ม ซื้อ ขาย จอง พัก เปิด ปิด ถึง "
    "จาก ทุกวัน วันนี้ พรุ่งนี้ เดือน ปี ชั่วโมง นาที ก่อน หลัง ระหว่าง พร้อม และ หรือ แต่ เพราะ เมื่อ ที่ ของ ใน บน"
)
_CHINESE: Final = (
    "城市 街道 房间 厨房 阳台 窗户 花园 学校 医院 超市 地铁 车站 公园 河边 山上 湖泊 森林 桥梁 早晨 夜晚 "
    "春天 夏天 秋天 冬天 阳光 雨水 风景 家具 沙发 桌子 椅子 电梯 楼层 面积 租金 合同 押金 邻居 朋友 孩子 老人 "
    "学生 老师 工人 经理 商店 饭馆 咖啡 茶叶 水果 蔬菜 面包 米饭 自行车 汽车 飞机 火车 轮船 票价 时间 分钟 小时 "
    "明天 昨天 今年 每周 附近 旁边 中间 对面 安静 明亮 宽敞 干净 便宜 方便 新建 古老 打开 关闭 出租 购买 搬家 步行 "
    "参观 联系 预约 安装 提供 需要 可以 已经 并且 或者 因为 所以 如果 之后 之前 以及 靠近 适合"
)
_ARABIC: Final = (
    "مدينة شارع بيت غرفة باب نافذة حديقة مدرسة مستشفى عيادة طبيب ممرضة دواء موعد صباح مساء يوم أسبوع شهر سنة "
    "ساعة دقيقة سوق متجر مطعم قهوة شاي خبز ماء فاكهة سمك لحم كتاب قلم ورقة رسالة هاتف سيارة قطار طائرة سفينة "
    "طريق جسر نهر بحر جبل شجرة زهرة شمس قمر مطر ريح صديق طفل عائلة رجل امرأة معلم طالب عامل مدير مكتب "
    "كبير صغير جديد قديم جميل نظيف هادئ قريب بعيد يفتح يغلق يصل يذهب يأتي يعمل يكتب يقرأ قبل بعد مع بين "
    "عند حول لكن لأن إذا كل بعض أيضا دائما غدا اليوم"
)


@dataclass(frozen=True)
class Language:
    """What a language writes with.

    `seen` is a line about visits with a place for their number. Without `words`, texts come from
    the English chain. With a Latin alphabet, names are invented; else they are made of `words`.
    """

    code: str
    seen: str
    words: Sequence[str] = ()
    stop: str = "."
    spaces: bool = True
    latin: bool = True

    def paragraphs(self, name: str, words: int) -> list[str]:
        """The text of this name, of whole sentences and so many words or a few more."""
        written, paragraphs = 0, list[list[str]]()
        for number, sentence in enumerate(self._sentences(name)):
            if number % _SENTENCES_A_PARAGRAPH == 0:
                paragraphs.append([])
            paragraphs[-1].append(sentence)
            written += count_words(sentence)
            if written >= words:
                break
        return [self._between.join(sentences) for sentences in paragraphs]

    def line(self, name: str) -> str:
        """The sentence of this name."""
        return next(self._sentences(name))

    def names(self, seed: str, count: int) -> list[str]:
        """So many names of places, people or things, all different."""
        random, found = Random(f"{_SEED} {self.code} {seed}"), dict[str, None]()
        while len(found) < count:
            # A short list of words has no more pairs than that to give.
            length = 2 if len(found) < len(self.words) ** 2 // 2 else 3
            found[self._name(random, length)] = None
        return list(found)

    @property
    def _between(self) -> str:
        return " " if self.spaces else ""

    def _name(self, random: Random, length: int) -> str:
        if self.latin:
            return f"{invented(random)} {invented(random)}".title()
        return self._between.join(random.sample(self.words, length))

    def _sentences(self, name: str) -> Iterator[str]:
        if not self.words:
            writer = _prose().writer(name)
            while True:
                yield writer.sentence()
        random = Random(f"{_SEED} {self.code} {name}")
        while True:
            drawn = random.choices(self.words, k=random.choice(_WORDS_A_SENTENCE))
            sentence = self._between.join(drawn)
            yield f"{sentence[0].upper()}{sentence[1:]}{self.stop}"


@cache
def _prose() -> Prose:
    return Prose(_SEED)


def _words_of_the_demo(language: str) -> tuple[str, ...]:
    """The longer words of the demo's articles in a language, each once."""
    texts = " ".join(article.text for article in all_articles() if article.language == language)
    words = (word for word in re.findall(r"\w+", texts.lower()) if len(word) >= _SHORTEST_WORD)
    return tuple(islice(dict.fromkeys(words), 500))


ENGLISH: Final = Language("en", "Seen {} times")
GERMAN: Final = Language("de", "{} Aufrufe", _words_of_the_demo("de"))
FRENCH: Final = Language("fr", "{} vues", _words_of_the_demo("fr"))
SPANISH: Final = Language("es", "{} visitas", _words_of_the_demo("es"))
RUSSIAN: Final = Language("ru", "Просмотров: {}", _words_of_the_demo("ru"), latin=False)
ARABIC: Final = Language("ar", "{} مشاهدة", tuple(_ARABIC.split()), latin=False)
THAI: Final = Language(
    "th", "เข้าชม {} ครั้ง", tuple(_THAI.split()), stop=" ", spaces=False, latin=False
)
CHINESE: Final = Language(
    "zh", "浏览 {} 次", tuple(_CHINESE.split()), stop="。", spaces=False, latin=False
)
